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

  private struct Shelf {
    var kept: [String: (creative: Creative, usedAt: UInt64)] = [:]
    var uses: UInt64 = 0
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
    if let kept = keptOne(name) { return .found(kept) }
    let path = "\(folder)/\(name)"
    guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int else { return .unknown }
    guard (1...ImageReference.bytesMaximum).contains(size) else { return .unsound }
    guard makeRoom(for: size) else { return .crowded }
    guard let data = FileManager.default.contents(atPath: path), data.count <= ImageReference.bytesMaximum else {
      return .unknown
    }
    let bytes = [UInt8](data)
    guard SHA256.hash(bytes) == sha256, let format = PictureFormat(of: bytes) else { return .unsound }
    let creative = Creative(format: format, bytes: SharedBytes(bytes, counter: alive))
    keep(creative, as: name)
    return .found(creative)
  }

  private func keptOne(_ name: String) -> Creative? {
    shelf.withLock { shelf in
      guard let kept = shelf.kept[name] else { return nil }
      shelf.uses += 1
      shelf.kept[name]?.usedAt = shelf.uses
      return kept.creative
    }
  }

  private func keep(_ creative: Creative, as name: String) {
    shelf.withLock { shelf in
      shelf.uses += 1
      shelf.kept[name] = (creative, shelf.uses)
    }
  }

  /// Lets go of those that were asked for longest ago, until there is room; false if it does not suffice, as others are still
  /// being sent.
  private func makeRoom(for size: Int) -> Bool {
    shelf.withLock { shelf in
      while alive.value + size > bytesMaximum {
        guard let oldest = shelf.kept.min(by: { $0.value.usedAt < $1.value.usedAt })?.key else { return false }
        shelf.kept[oldest] = nil
      }
      return true
    }
  }
}
