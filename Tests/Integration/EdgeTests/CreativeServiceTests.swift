import AdBasics
import Crypto
import Foundation
import JSON
import Pictures
import Testing

@testable import Edge
@testable import HTTP

@Suite("The edge's images: GET /v1/creatives/HASH", .serialized)
struct CreativeServiceTests {
  private func get(
    _ edge: RunningEdge, _ path: String, _ method: String = "GET", headers: [(name: String, value: String)] = []
  ) throws -> HTTPResponse {
    try HTTPClient.send(method, edge.base + path, headers: headers, timeoutMilliseconds: 20_000)
  }

  private func folder(_ files: [String: [UInt8]]) throws -> String {
    let folder = URL(filePath: NSTemporaryDirectory()).appending(path: "creatives-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, bytes) in files { try Data(bytes).write(to: folder.appending(path: name)) }
    return folder.path
  }

  private func name(_ bytes: [UInt8]) throws -> String {
    try #require(ImageReference.Contents(sha256: SHA256.hash(bytes), byteCount: 1)).name
  }

  /// A GIF's first bytes and as many more as wanted.
  private func image(_ count: Int, _ filling: UInt8) -> [UInt8] {
    Array("GIF89a".utf8) + [UInt8](repeating: filling, count: count - 6)
  }

  @Test("A2: the pictures of test ads are there, to be kept for ever, for any page; HEAD and If-None-Match as well")
  func samples() throws {
    let edge = try RunningEdge()
    defer { edge.stop() }
    let text = try #require(SamplePicture.images(of: "handbill-test-cover")[.phoneBannerPortrait])
    let reference = ImageReference(text)
    let contents = try #require(reference.contents)
    let response = try get(edge, reference.url)
    #expect(response.status == 200)
    #expect(SHA256.hash(response.body) == contents.sha256)
    #expect(response.body.count == contents.byteCount)
    func header(_ name: String, _ response: HTTPResponse) -> String? {
      response.headers.first { $0.name.lowercased() == name }?.value
    }
    #expect(header("content-type", response) == "image/png")
    #expect(header("cache-control", response) == "public, max-age=31536000, immutable")
    #expect(header("access-control-allow-origin", response) == "*")
    let tag = try #require(header("etag", response))
    #expect(tag == "\"\(contents.name)\"")
    let known = try get(edge, reference.url, headers: [(name: "If-None-Match", value: tag)])
    #expect(known.status == 304 && known.body.isEmpty)
    let head = try get(edge, reference.url, "HEAD")
    #expect(head.status == 200 && head.body.isEmpty && header("etag", head) == tag)
    #expect(try get(edge, reference.url, "POST").status == 405)
  }

  @Test("An operator's image is served by its hash; what is not what its name says, is none or is too large, never")
  func folder() throws {
    let sound = image(5_000, 1)
    let page = Array("<html><script>alert(1)</script></html>".utf8)
    let large = image(ImageReference.bytesMaximum + 1, 2)
    let other = String(repeating: "ab", count: 32)
    let path = try folder([
      try name(sound): sound, try name(page): page, try name(large): large, other: sound, "secret": sound,
    ])
    defer { try? FileManager.default.removeItem(atPath: path) }
    let edge = try RunningEdge(["HANDBILL_EDGE_CREATIVES": path])
    defer { edge.stop() }
    let response = try get(edge, "/v1/creatives/\(name(sound))")
    #expect(response.status == 200 && response.body == sound)
    #expect(response.headers.first { $0.name.lowercased() == "content-type" }?.value == "image/gif")
    // What was read once is kept, so that a file that goes away is still there for who knows it.
    try FileManager.default.removeItem(atPath: "\(path)/\(name(sound))")
    #expect(try get(edge, "/v1/creatives/\(name(sound))").body == sound)
    for name in [
      try name(page), try name(large), other, "secret", "..%2Fsecret", "%2E%2E%2Fetc%2Fpasswd", other.uppercased(),
      String(repeating: "cd", count: 32),
    ] {
      let response = try get(edge, "/v1/creatives/\(name)")
      let reason = try JSONValue.parse(response.body)["reason"]
      let isOther = [try self.name(page), try self.name(large), other].contains(name)
      #expect(response.status == 404 && reason == .text(isOther ? "unsoundCreative" : "unknownCreative"), "\(name)")
    }
  }

  @Test("Images on their way and kept take no more memory than the setting says; the others wait")
  func memory() throws {
    let images = (0..<5).map { image(1 << 20, UInt8($0)) }
    let path = try folder(Dictionary(uniqueKeysWithValues: images.map { (try name($0), $0) }))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let shelf = CreativeShelf(folder: path, bytesMaximum: 2 << 20)
    func find(_ index: Int) throws -> SharedBytes? {
      switch shelf.find(try name(images[index])) {
      case .found(let creative): creative.bytes
      default: nil
      }
    }
    // Nobody holds them: the oldest goes for the next.
    for index in 0..<5 { #expect(try find(index)?.bytes == images[index]) }
    var sending = [try find(0), try find(1)]
    #expect(sending.allSatisfy { $0 != nil })
    guard case .crowded = shelf.find(try name(images[2])) else {
      Issue.record("there was room")
      return
    }
    // Nothing was let go of for that: they are found, without their files.
    for index in 0..<2 { try FileManager.default.removeItem(atPath: "\(path)/\(name(images[index]))") }
    for index in 0..<2 { #expect(try find(index) != nil, "\(index)") }
    sending.removeLast()
    #expect(try find(2) != nil)
    // The other one had to go.
    #expect(try find(0) != nil && find(1) == nil)
    withExtendedLifetime(sending) {}
  }

  @Test("An image that is kept stays so where to let go of it would not make room enough")
  func room() throws {
    let images = [image(1 << 20, 0), image(1 << 20, 1), image(2 << 20, 2)]
    let path = try folder(Dictionary(uniqueKeysWithValues: images.map { (try name($0), $0) }))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let shelf = CreativeShelf(folder: path, bytesMaximum: 2 << 20)
    guard case .found(let sending) = shelf.find(try name(images[0])),
      case .found = shelf.find(try name(images[1]))
    else {
      Issue.record("there was no room")
      return
    }
    guard case .crowded = shelf.find(try name(images[2])) else {
      Issue.record("there was room")
      return
    }
    try FileManager.default.removeItem(atPath: "\(path)/\(name(images[1]))")
    guard case .found = shelf.find(try name(images[1])) else {
      Issue.record("it was let go of for nothing")
      return
    }
    withExtendedLifetime(sending) {}
  }
}
