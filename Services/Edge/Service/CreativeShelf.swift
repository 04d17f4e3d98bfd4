internal import AdCore
internal import Crypto
internal import EdgeCore
internal import Foundation
internal import HTTP
internal import Pictures
internal import Synchronization

/// Images by the SHA-256 of their contents: those that come with the network, and the operator's, which lie in a folder as
/// files named by it. What is on the way to clients and what is kept for the next takes a bounded memory.
final class CreativeShelf: Sendable {
  /// An image, ready to be sent.
  struct Creative: Sendable {
    let format: PictureFormat
    let bytes: SharedBytes
  }

  /// What lies under a name.
  enum Finding: Sendable {
    case found(Creative)
    case unknown
    /// Too much is on its way already.
    case crowded
    /// There is something, but not what its name says, or no image, or too large.
    case unsound
  }

  private struct Kept {
    let format: PictureFormat
    /// Given away under the shelf's lock alone: those that nobody else has then stay so while it is held.
    var bytes: SharedBytes
    var usedAt: UInt64
  }

  private struct Shelf {
    /// All that are on their way are here, too: to let go of them would free nothing.
    var kept: [String: Kept] = [:]
    var uses: UInt64 = 0

    mutating func find(_ name: String) -> Creative? {
      uses += 1
      kept[name]?.usedAt = uses
      return kept[name].map { Creative(format: $0.format, bytes: $0.bytes) }
    }

    /// Lets go of those that were asked for longest ago, of those that nobody sends, until so many bytes are free; of none if
    /// that does not suffice.
    mutating func free(_ count: Int) -> Bool {
      var idle: [(name: String, count: Int, usedAt: UInt64)] = []
      var index = kept.startIndex
      while index != kept.endIndex {
        // Looked at where it lies: a loop over the indices would hold all of them once more.
        if isKnownUniquelyReferenced(&kept.values[index].bytes) {
          let each = kept[index]
          idle.append((each.key, each.value.bytes.count, each.value.usedAt))
        }
        kept.formIndex(after: &index)
      }
      guard idle.reduce(0, { $0 + $1.count }) >= count else { return false }
      idle.sort { $0.usedAt < $1.usedAt }
      var freed = 0
      for each in idle where freed < count {
        kept[each.name] = nil
        freed += each.count
      }
      return true
    }
  }

  private let samples: [String: Creative]
  private let folder: String?
  private let bytesMaximum: Int
  private let alive = SharedBytes.Count()
  private let shelf = Mutex(Shelf())

  /// - Parameters:
  ///   - folder: where the operator's images are; nil without.
  ///   - bytesMaximum: of the operator's images, kept or on their way.
  init(folder: String?, bytesMaximum: Int) {
    self.folder = folder
    self.bytesMaximum = bytesMaximum
    let count = SharedBytes.Count()
    samples = SamplePicture.named().mapValues { Creative(format: .png, bytes: SharedBytes($0, counter: count)) }
  }

  /// The image whose SHA-256 is `name`, in hexadecimal.
  func find(_ name: String) -> Finding {
    if let sample = samples[name] { return .found(sample) }
    guard let sha256 = ImageReference.Contents.sha256(named: name), let folder else { return .unknown }
    if let kept = shelf.withLock({ $0.find(name) }) { return .found(kept) }
    let path = "\(folder)/\(name)"
    guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int else { return .unknown }
    guard (1...ImageReference.bytesMaximum).contains(size) else { return .unsound }
    guard makeRoom(for: size) else { return .crowded }
    guard let data = FileManager.default.contents(atPath: path), data.count <= ImageReference.bytesMaximum else {
      return .unknown
    }
    let bytes = [UInt8](data)
    guard SHA256.hash(bytes) == sha256, let format = PictureFormat(of: bytes) else { return .unsound }
    return .found(keep(SharedBytes(bytes, counter: alive), format, as: name))
  }

  /// Who has read the same meanwhile was first.
  private func keep(_ bytes: SharedBytes, _ format: PictureFormat, as name: String) -> Creative {
    shelf.withLock { shelf in
      if let known = shelf.find(name) { return known }
      shelf.kept[name] = Kept(format: format, bytes: bytes, usedAt: shelf.uses)
      return Creative(format: format, bytes: bytes)
    }
  }

  /// False where too much is still being sent.
  private func makeRoom(for size: Int) -> Bool {
    shelf.withLock { shelf in
      let excess = alive.value + size - bytesMaximum
      return excess <= 0 || shelf.free(excess)
    }
  }
}
