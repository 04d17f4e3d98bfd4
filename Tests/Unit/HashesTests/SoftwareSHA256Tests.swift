import Crypto
import Hashes
import Testing

@Suite("SHA-256 in Swift alone")
struct SoftwareSHA256Tests {
  @Test(
    "FIPS 180-4's examples",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
    ])
  func examples(text: String, hash: String) {
    #expect(Hexadecimal.text(SoftwareSHA256.hash(text.utf8)) == hash)
  }

  @Test("It agrees with libcrypto at every length around the blocks' ends, taken whole or in pieces")
  func agrees() {
    for length in 0...200 {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ length) }
      let expected = SHA256.hash(bytes)
      #expect(SoftwareSHA256.hash(bytes) == expected)
      var pieces = SoftwareSHA256()
      for start in stride(from: 0, to: length, by: 7) { pieces.update(bytes[start..<min(start + 7, length)]) }
      #expect(pieces.finish() == expected)
    }
  }

  @Test("The short identity is the first 8 bytes, big-endian")
  func short() {
    #expect(SoftwareSHA256.hash64("abc".utf8) == 0xba78_16bf_8f01_cfea)
  }
}
