import AdBasics
import Crypto
import Testing

@testable import Pictures

@Suite("Pictures that come with the network")
struct SamplePictureTests {
  private static let named = SamplePicture.named()

  @Test(
    "A2, S4: both test ads have a picture of every size, whose hash and length are told", arguments: AdSize.allCases)
  func sizes(_ size: AdSize) throws {
    for ad in ["handbill-test-cover", "handbill-test-leave"] {
      let reference = ImageReference(try #require(SamplePicture.images(of: ad)[size]))
      let contents = try #require(reference.contents)
      #expect(reference.isSound)
      #expect(reference.url == "/v1/creatives/\(contents.name)")
      let bytes = try #require(Self.named[contents.name])
      #expect(bytes.count == contents.byteCount)
      #expect(SHA256.hash(bytes) == contents.sha256)
      #expect(PictureFormat(of: bytes) == .png)
      #expect(Array(bytes[16..<24]) == word(size.width) + word(size.height))
    }
  }

  private func word(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }

  @Test("They are the same bytes for ever: programs of different versions agree on their names")
  func pinned() {
    let names = Self.named.keys.sorted().joined()
    #expect(Self.named.count == SamplePicture.all.count * AdSize.allCases.count)
    #expect(ImageReference.Contents(sha256: SHA256.hash(names.utf8), byteCount: 1)?.name == "a9baa08691fbe1a4e3d3c43bbe1a54c27e24e9ffb4a395763e9bd1f70ff2c3bb")
  }

  @Test("No other ad has a picture")
  func others() { #expect(SamplePicture.images(of: "an-ad").isEmpty) }

  @Test("Forms are told by their first bytes, and what a browser would run is none")
  func formats() {
    #expect(PictureFormat(of: [0xFF, 0xD8, 0xFF, 0xE0]) == .jpeg)
    #expect(PictureFormat(of: Array("GIF89a".utf8)) == .gif)
    #expect(PictureFormat(of: Array("RIFF1234WEBPVP8 ".utf8)) == .webp)
    for other in ["", "RIFF1234WAVE", "<svg xmlns='http://www.w3.org/2000/svg'/>", "<html>", "\u{89}PN"] {
      #expect(PictureFormat(of: Array(other.utf8)) == nil, "\(other)")
    }
  }
}
