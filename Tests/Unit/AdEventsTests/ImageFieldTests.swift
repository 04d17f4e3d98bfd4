import AdCore
import AdEvents
import Testing

@Suite("Images in answers, on the wire")
struct ImageFieldTests {
  private static let hash = [UInt8](repeating: 0xAB, count: 32)

  /// An answer with one image, whose fields are as `write` writes them.
  private func read(_ write: (inout WireWriter) -> Void) throws -> Result<AdResponse, Rejection> {
    let id = try #require(ServeID("0190f3a0-0000-7000-8000-000000000001"))
    var writer = WireWriter()
    writer.uuid(1, high: id.high, low: id.low)
    writer.message(2) { ad in
      ad.text(1, "an-ad")
      ad.bytes(2, [1])
      ad.message(3, write)
      ad.message(4) { action in
        action.unsigned(1, 1)
        action.text(2, "https://a.example")
      }
      ad.text(7, id.description)
    }
    return writer.output.withUnsafeBytes { bytes in
      do throws(Rejection) { return .success(try AdResponse.read(bytes, headers: RecordHeaders())) } catch {
        return .failure(error)
      }
    }
  }

  private func image(_ hash: [UInt8]?, _ count: UInt64?) -> (inout WireWriter) -> Void {
    { writer in
      writer.unsigned(1, 1)
      writer.text(2, "/v1/creatives/x")
      if let hash { writer.presentBytes(3, hash) }
      if let count { writer.unsigned(4, count) }
    }
  }

  @Test("S4: hash and length go as fields of their own, beside the plain URL, and come back")
  func fields() throws {
    let response = try read(image(Self.hash, 4_711)).get()
    guard case .ad(let ad) = response.outcome else {
      Issue.record("no ad")
      return
    }
    let reference = ImageReference(ad.images[0].url)
    #expect(reference.url == "/v1/creatives/x")
    #expect(reference.contents?.sha256 == Self.hash)
    #expect(reference.contents?.byteCount == 4_711)
    let again = response.encoded().withUnsafeBytes { try? AdResponse.read($0, headers: RecordHeaders()) }
    #expect(again == response)
    #expect(!response.encoded().contains(UInt8(ascii: "#")))
  }

  @Test("An answer that tells neither is read as before, as a network's that does not know them")
  func without() throws {
    guard case .ad(let ad) = try read(image(nil, nil)).get().outcome else {
      Issue.record("no ad")
      return
    }
    #expect(ad.images.map(\.url) == ["/v1/creatives/x"])
  }

  @Test(
    "One without the other, a hash of another length, or more bytes than an image may have is refused",
    arguments: [
      (hash, nil), (nil, 7), ([1, 2, 3], 7), (hash, 2_097_153), (hash + [0], 7), (hash, UInt64.max),
    ] as [([UInt8]?, UInt64?)])
  func refused(_ hash: [UInt8]?, _ count: UInt64?) throws {
    guard case .failure(let rejection) = try read(image(hash, count)) else {
      Issue.record("it was taken")
      return
    }
    #expect(rejection.reason == .invalidField)
  }
}
