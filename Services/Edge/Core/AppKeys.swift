package import AdCore
package import AdEvents
internal import Crypto

/// Which app keys there are, as the catalogue's topic tells, and whether all of it has been read: of every other record only
/// a hash and its version are kept, which the heartbeat's number and sum are compared with.
package struct AppKeys: Sendable {
  private struct Entry: Sendable {
    var version: Int64
    /// The SHA-256 of the app key that the record is about.
    var keyHash: [UInt8]?
  }

  /// More records than this are not taken: memory stays bounded whatever is written to the topic.
  package static let recordsMaximum = 1_000_000

  private var entries: [UInt64: Entry] = [:]
  private var versionSum: Int64 = 0
  private var keys: [[UInt8]: AppKey] = [:]
  /// Whether everything was here once. What changes later is read as it comes.
  package private(set) var isComplete = false

  package init() {}

  /// Takes a message of `ads.catalog`.
  package mutating func apply(_ message: CatalogMessage) {
    switch message {
    case .record(let record, let version):
      if case .appKey(let key) = record {
        replace(message.key, key, version)
      } else {
        replace(message.key, nil, version)
      }
    case .deleted(let key, let version): replace(key, nil, version)
    case .heartbeat(let records, let versionSum, _, _, _):
      if records == Int64(entries.count), versionSum == self.versionSum { isComplete = true }
    }
  }

  /// Takes a tombstone: a deletion of long ago leaves the catalogue.
  package mutating func applyTombstone(key: String) {
    guard let entry = entries.removeValue(forKey: Self.hash(key)) else { return }
    versionSum &-= entry.version
    if let hash = entry.keyHash { keys[hash] = nil }
  }

  /// The app whose key this is; why not, where it is no app's that `app` could be.
  ///
  /// - Parameter app: nil where the request does not name one.
  package func app(ofKey key: String, named app: AppID?) -> Result<AppID, EdgeRefusal> {
    guard let known = keys[SHA256.hash(key.utf8)] else {
      return .failure(
        isComplete
          ? .appKeyWrong(detail: "A1: the app key is unknown")
          : .unavailable(detail: "the catalogue is not read yet"))
    }
    guard !known.isRevoked else { return .failure(.appKeyWrong(detail: "A1: the app key is revoked")) }
    guard app == nil || known.app == app else {
      return .failure(.appKeyWrong(detail: "A1: the app key is not that of the app that is named"))
    }
    return .success(known.app)
  }

  private mutating func replace(_ name: String, _ key: AppKey?, _ version: Int64) {
    let hash = Self.hash(name)
    let before = entries[hash]
    guard version > before?.version ?? 0, before != nil || entries.count < Self.recordsMaximum else { return }
    versionSum &+= version &- (before?.version ?? 0)
    if let old = before?.keyHash { keys[old] = nil }
    if let key { keys[key.keyHash] = key }
    entries[hash] = Entry(version: version, keyHash: key?.keyHash)
  }

  private static func hash(_ name: String) -> UInt64 { Array(name.utf8).withUnsafeBytes { SHA256.hash64($0) } }
}
