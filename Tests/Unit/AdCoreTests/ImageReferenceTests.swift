import AdBasics
import Testing

@Suite("Where an image lies, and what it must be")
struct ImageReferenceTests {
  private static let name = String(repeating: "0f", count: 32)
  private static let whole = "https://a.example/1.png#sha256=\(name)&bytes=4711"

  @Test("S4: a URL tells hash and length in its fragment, and is the same text again")
  func whole() throws {
    let reference = ImageReference(Self.whole)
    #expect(reference.url == "https://a.example/1.png")
    let contents = try #require(reference.contents)
    #expect(contents.sha256 == [UInt8](repeating: 15, count: 32))
    #expect(contents.byteCount == 4_711)
    #expect(contents.name == Self.name)
    #expect(reference.text == Self.whole)
    #expect(reference.isSound)
    #expect(ImageReference(atEdge: contents).text == "/v1/creatives/\(Self.name)#sha256=\(Self.name)&bytes=4711")
  }

  @Test(
    "A fragment that is not just so is none, and is told where it looks like one",
    arguments: [
      "#sha256=\(name)", "#sha256=\(name)&bytes=0", "#sha256=\(name)&bytes=007", "#sha256=\(name)&bytes=+7",
      "#sha256=\(name)&bytes=2097153", "#sha256=\(name)&bytes=99999999999999999999", "#sha256=\(name)0&bytes=7",
      "#sha256=\(name.dropLast())&bytes=7", "#sha256=\(name.uppercased())&bytes=7", "#sha256=\(name)&bytes=",
    ])
  func unsound(_ fragment: String) {
    let reference = ImageReference("https://a.example/1.png" + fragment)
    #expect(reference.contents == nil)
    #expect(reference.text == "https://a.example/1.png" + fragment)
    #expect(!reference.isSound)
  }

  @Test("A path lies at the edge that answered; a whole URL where it says")
  func places() {
    #expect(ImageReference("/v1/creatives/ab").url(at: "https://e.example") == "https://e.example/v1/creatives/ab")
    #expect(ImageReference("/v1/creatives/ab").url(at: "https://e.example/") == "https://e.example/v1/creatives/ab")
    #expect(ImageReference(Self.whole).url(at: "https://e.example") == "https://a.example/1.png")
    for text in ["/1.png", "https://a.example/1.png#top"] { #expect(ImageReference(text).isSound, "\(text)") }
    for text in ["//a.example/1.png", "1.png", "javascript:alert(1)", "", "/a b", "/ü"] {
      #expect(!ImageReference(text).isSound, "\(text)")
    }
  }
}
