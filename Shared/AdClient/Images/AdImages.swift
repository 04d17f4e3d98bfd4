public import AdBasics
internal import Foundation
internal import Hashes
internal import Synchronization

/// The images of ads: fetched over HTTP, checked by length and SHA-256 where the network's answer tells them, and kept within
/// a bound, so that an ad that comes again costs nothing.
public final class AdImages: Sendable {
  private struct Kept: Sendable {
    let bytes: [UInt8]
    var lastUse: UInt64
  }

  private struct Memory {
    var images: [String: Kept] = [:]
    var uses: UInt64 = 0
  }

  /// Where they are kept; nil keeps them in memory.
  private let folder: URL?
  private let bytesMaximum: Int
  private let memory = Mutex(Memory())
  /// By name and address, those on their way: whoever wants the same from there waits for the same.
  private let coming = Mutex<[String: Task<Bool, Never>]>([:])
  private let log: AdLog

  /// - Parameter bytesMaximum: The most bytes that are kept; the least lately used go first.
  init(folder: URL?, bytesMaximum: Int, log: @escaping AdLog) {
    self.folder = folder
    self.bytesMaximum = max(ImageReference.bytesMaximum, bytesMaximum)
    self.log = log
    if let folder { try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
  }

  /// The image of an ad in one of its sizes, once the ad was loaded; nil where it is not kept any more.
  public func image(of ad: AdContent, size: AdSize) -> [UInt8]? {
    ad.images[size].flatMap { kept(Self.name($0, ad.imageContents[size])) }
  }

  /// The file of that image, where images are kept on disk.
  public func path(of ad: AdContent, size: AdSize) -> String? {
    guard let folder, let url = ad.images[size] else { return nil }
    let path = folder.appendingPathComponent(Self.name(url, ad.imageContents[size])).path
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }

  /// Fetches whatever is missing of an ad's images; false when one cannot be had, or is not what the network says (E8).
  func fetch(_ ad: AdContent) async -> Bool {
    for (size, url) in ad.images where !(await fetch(url, ad.imageContents[size])) { return false }
    return true
  }

  private func fetch(_ address: String, _ contents: ImageReference.Contents?) async -> Bool {
    // What the SDK draws itself is in the address; what lies at an edge that the client does not know is the app's to find.
    if address.hasPrefix("data:") || address.hasPrefix("/") { return true }
    let name = Self.name(address, contents)
    if let kept = kept(name), Self.isRight(kept, contents) { return true }
    guard let url = URL(string: address), ["http", "https"].contains(url.scheme?.lowercased()) else {
      log(AdLogEntry(.warning, "an image lies at no address of http or https: \(address.prefix(200))"))
      return false
    }
    let way = name + " " + address
    let task = coming.withLock { coming in
      if let task = coming[way] { return task }
      let task = Task { [self] in
        defer { self.coming.withLock { $0[way] = nil } }
        return await download(url, contents, as: name)
      }
      coming[way] = task
      return task
    }
    return await task.value
  }

  private func download(_ url: URL, _ contents: ImageReference.Contents?, as name: String) async -> Bool {
    let address = url.absoluteString.prefix(200)
    let bytesMaximum = contents?.byteCount ?? ImageReference.bytesMaximum
    switch await ImageDownload.bytes(at: url, bytesMaximum: bytesMaximum) {
    case .failure(let problem):
      log(AdLogEntry(.warning, "an image cannot be had from \(address): \(problem)"))
      return false
    case .success(let bytes):
      guard Self.isRight(bytes, contents) else {
        log(AdLogEntry(.warning, "what lies at \(address) is not the image that the network names"))
        return false
      }
      keep(bytes, as: name)
      return true
    }
  }

  private static func isRight(_ bytes: [UInt8], _ contents: ImageReference.Contents?) -> Bool {
    guard let contents else { return !bytes.isEmpty }
    return bytes.count == contents.byteCount && SoftwareSHA256.hash(bytes) == contents.sha256
  }

  /// By its contents; where nobody has told them, by its address.
  private static func name(_ url: String, _ contents: ImageReference.Contents?) -> String {
    if let contents { return contents.name }
    let hash = ImageReference.Contents(sha256: SoftwareSHA256.hash(url.utf8), byteCount: 1)
    return "at-\(hash?.name ?? "nowhere")"
  }

  // MARK: What is kept

  private func kept(_ name: String) -> [UInt8]? {
    guard let folder else {
      return memory.withLock { memory in
        memory.uses += 1
        memory.images[name]?.lastUse = memory.uses
        return memory.images[name]?.bytes
      }
    }
    let file = folder.appendingPathComponent(name)
    guard let data = try? Data(contentsOf: file) else { return nil }
    // So that what is used stays.
    try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: file.path)
    return [UInt8](data)
  }

  private func keep(_ bytes: [UInt8], as name: String) {
    guard let folder else {
      return memory.withLock { memory in
        memory.uses += 1
        memory.images[name] = Kept(bytes: bytes, lastUse: memory.uses)
        var total = memory.images.values.reduce(0) { $0 + $1.bytes.count }
        let oldest = memory.images.sorted { $0.value.lastUse < $1.value.lastUse }
        for (other, kept) in oldest where total > bytesMaximum {
          memory.images[other] = nil
          total -= kept.bytes.count
        }
      }
    }
    do {
      try Data(bytes).write(to: folder.appendingPathComponent(name), options: .atomic)
      try removeOldest(folder)
    } catch { log(AdLogEntry(.warning, "an image is not kept on disk: \(error)")) }
  }

  private func removeOldest(_ folder: URL) throws {
    let keys: Set<URLResourceKey> = [.fileSizeKey, .contentModificationDateKey]
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: Array(keys)).map {
      (url: $0, values: try $0.resourceValues(forKeys: keys))
    }
    // After all were read: one that is written meanwhile is not of the future.
    let now = Date()
    func lastUse(_ values: URLResourceValues) -> Date {
      // A use to come is one of before the clock was set back.
      values.contentModificationDate.flatMap { $0 <= now ? $0 : nil } ?? .distantPast
    }
    var total = files.reduce(0) { $0 + ($1.values.fileSize ?? 0) }
    for file in files.sorted(by: { lastUse($0.values) < lastUse($1.values) }) where total > bytesMaximum {
      try FileManager.default.removeItem(at: file.url)
      total -= file.values.fileSize ?? 0
    }
  }
}
