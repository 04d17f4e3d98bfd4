import AdBasics
import Foundation
import Hashes
import LocalProcesses
import Testing

@testable import AdClient

@Suite("Images of ads")
struct AdImagesTests {
  private static let picture: [UInt8] = Array("a picture".utf8)

  private func ad(_ address: String, _ bytes: [UInt8]?, byteCount: Int? = nil) throws -> AdContent {
    let contents = try bytes.map {
      try #require(ImageReference.Contents(sha256: SoftwareSHA256.hash($0), byteCount: byteCount ?? $0.count))
    }
    return AdContent(
      ad: try #require(AdID("an-ad")), images: [.phoneBannerPortrait: address],
      action: AdAction(kind: .cover, destination: "https://a.example"), lifetimeMilliseconds: 900_000, isTest: true,
      serveID: sampleServeID, requestID: sampleRequestID, token: [1], answeredAt: ms(0),
      imageContents: contents.map { [.phoneBannerPortrait: $0] } ?? [:])
  }

  private func images(_ folder: TemporaryFolder?, bytesMaximum: Int = 0) throws -> AdImages {
    let app = try #require(AppID(sampleApp))
    return AdImages(folder: folder?.storage.imageFolder(for: app), bytesMaximum: bytesMaximum) { _ in }
  }

  @Test(
    "What the network names is fetched once, kept, and there for the next run of the app", arguments: [true, false])
  func kept(isOnDisk: Bool) async throws {
    let server = SmallServer { _, _ in SmallServer.Reply(body: Self.picture) }
    defer { server.stop() }
    let folder = try isOnDisk ? TemporaryFolder() : nil
    let images = try images(folder)
    let ad = try ad(server.address + "/1.png", Self.picture)
    #expect(images.image(of: ad, size: .phoneBannerPortrait) == nil)
    #expect(await images.fetch(ad))
    #expect(await images.fetch(ad))
    #expect(server.requests.map(\.path) == ["/1.png"])
    #expect(images.image(of: ad, size: .phoneBannerPortrait) == Self.picture)
    #expect((images.path(of: ad, size: .phoneBannerPortrait) != nil) == isOnDisk)
    guard isOnDisk else { return }
    let later = try self.images(folder)
    #expect(await later.fetch(ad))
    #expect(server.requests.count == 1)
    // What somebody else has written there is not the ad's: it is fetched again.
    let path = try #require(later.path(of: ad, size: .phoneBannerPortrait))
    try Data("a pictura".utf8).write(to: URL(fileURLWithPath: path))
    #expect(await later.fetch(ad))
    #expect(later.image(of: ad, size: .phoneBannerPortrait) == Self.picture)
    #expect(server.requests.count == 2)
  }

  @Test("Whoever wants an image that is on its way waits for that")
  func sameTime() async throws {
    let server = SmallServer { _, _ in SmallServer.Reply(body: Self.picture) }
    defer { server.stop() }
    let images = try images(nil)
    let ad = try ad(server.address + "/1.png", Self.picture)
    let results = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 { group.addTask { await images.fetch(ad) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results == Array(repeating: true, count: 8))
    #expect(server.requests.count == 1)
  }

  @Test("E8: another image than the network names, a longer one, none, and what is no address are not had")
  func wrong() async throws {
    let server = SmallServer { request, _ in
      request.path == "/none" ? SmallServer.Reply(status: 404) : SmallServer.Reply(body: Self.picture)
    }
    defer { server.stop() }
    let folder = try TemporaryFolder()
    let images = try images(folder)
    let other = Array("a pictura".utf8)
    for bad in [
      try ad(server.address + "/other", other), try ad(server.address + "/short", Self.picture, byteCount: 3),
      try ad(server.address + "/none", Self.picture), try ad("ftp://a.example/1", nil),
      try ad("http://127.0.0.1:1/", nil),
    ] {
      #expect(await !images.fetch(bad), "\(bad.images)")
      #expect(images.image(of: bad, size: .phoneBannerPortrait) == nil)
    }
    #expect(await images.fetch(try ad(server.address + "/unnamed", nil)), "nobody says what it must be")
    #expect(await images.fetch(try ad("data:image/svg+xml,x", nil)), "the SDK has drawn it")
    #expect(await images.fetch(try ad("/v1/creatives/x", nil)), "the app knows where it lies")
  }

  @Test("Beyond the bound the least lately used go first", arguments: [true, false])
  func bound(isOnDisk: Bool) async throws {
    let large = [[UInt8]]((0..<3).map { Array(repeating: $0, count: ImageReference.bytesMaximum / 2) })
    let server = SmallServer { request, _ in SmallServer.Reply(body: large[Int(request.path.dropFirst()) ?? 0]) }
    defer { server.stop() }
    let folder = try isOnDisk ? TemporaryFolder() : nil
    let images = try images(folder)
    let ads = try large.indices.map { try ad("\(server.address)/\($0)", large[$0]) }
    for ad in ads[..<2] { #expect(await images.fetch(ad)) }
    #expect(images.image(of: ads[0], size: .phoneBannerPortrait) != nil, "used once more")
    #expect(await images.fetch(ads[2]))
    #expect(ads.map { images.image(of: $0, size: .phoneBannerPortrait) != nil } == [true, false, true])
  }

  @Test("What was used while the clock was ahead goes before what is kept now")
  func clockSetBack() async throws {
    let server = SmallServer { _, _ in SmallServer.Reply(body: Self.picture) }
    defer { server.stop() }
    let folder = try TemporaryFolder()
    let images = try images(folder)
    let app = try #require(AppID(sampleApp))
    let place = try #require(folder.storage.imageFolder(for: app))
    let ofLater = place.appendingPathComponent("of-later")
    try Data(count: ImageReference.bytesMaximum).write(to: ofLater)
    let year2100 = Date(timeIntervalSince1970: 4_102_444_800)
    try FileManager.default.setAttributes([.modificationDate: year2100], ofItemAtPath: ofLater.path)
    let ad = try ad(server.address + "/1.png", Self.picture)
    #expect(await images.fetch(ad))
    #expect(images.image(of: ad, size: .phoneBannerPortrait) == Self.picture)
    #expect(!FileManager.default.fileExists(atPath: ofLater.path))
  }
}
