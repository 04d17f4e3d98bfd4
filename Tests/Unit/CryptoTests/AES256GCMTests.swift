import Testing

@testable import Crypto

@Suite("AES-256-GCM")
struct AES256GCMTests {
  private static let key = [UInt8](0..<32)
  private static let nonce = [UInt8](0..<16)
  private static let clear = [UInt8]("clear".utf8)
  private static let text = [UInt8]("a text of twenty-four B.".utf8)
  /// By Python's `cryptography`: `AESGCM(key).encrypt(nonce, text, clear)`.
  private static let encrypted: [UInt8] = [
    0x06, 0x4C, 0xD4, 0x13, 0x41, 0x90, 0x6A, 0x47, 0xFB, 0xDF, 0xAF, 0x5E, 0x30, 0xCA, 0x58, 0xCA, 0x79, 0xD5, 0x04,
    0xD4, 0x15, 0xAD, 0x91, 0x6D, 0x1A, 0x5B, 0x58, 0x52, 0x60, 0x54, 0x07, 0x8C, 0xC4, 0x80, 0xB8, 0x29, 0x05, 0xDD,
    0x94, 0x77,
  ]

  /// The decrypted text; nil where it was refused.
  private static func decrypted(
    _ cipher: AES256GCM, _ encrypted: [UInt8], clear: [UInt8] = clear, nonce: [UInt8] = nonce
  ) -> [UInt8]? {
    var text = Array(encrypted.dropLast(AES256GCM.tagBytes))
    let isOpened = text.withUnsafeMutableBytes { text in
      clear.withUnsafeBytes { clear in
        nonce.withUnsafeBytes { nonce in
          Array(encrypted.suffix(AES256GCM.tagBytes)).withUnsafeBytes { tag in
            cipher.decrypt(text, clear: clear, nonce: nonce, tag: tag)
          }
        }
      }
    }
    return isOpened ? text : nil
  }

  private static func encrypted(_ cipher: AES256GCM, _ text: [UInt8]) -> [UInt8] {
    var text = text
    var tag = [UInt8](repeating: 0, count: AES256GCM.tagBytes)
    text.withUnsafeMutableBytes { text in
      clear.withUnsafeBytes { clear in
        nonce.withUnsafeBytes { nonce in
          tag.withUnsafeMutableBytes { cipher.encrypt(text, clear: clear, nonce: nonce, tag: $0) }
        }
      }
    }
    return text + tag
  }

  @Test("What another program encrypted is what we encrypt, and we decrypt it, again and again")
  func value() throws {
    let cipher = try AES256GCM(key: Self.key)
    for _ in 0..<2 {
      #expect(Self.encrypted(cipher, Self.text) == Self.encrypted)
      #expect(Self.decrypted(cipher, Self.encrypted) == Self.text)
    }
  }

  @Test("Any bit of text, tag, clear text or nonce that is another one refuses, and so does another key")
  func altered() throws {
    let cipher = try AES256GCM(key: Self.key)
    func flipped(_ bytes: [UInt8], _ bit: Int) -> [UInt8] {
      var bytes = bytes
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      return bytes
    }
    for bit in 0..<(Self.encrypted.count * 8) { #expect(Self.decrypted(cipher, flipped(Self.encrypted, bit)) == nil) }
    for bit in 0..<(Self.clear.count * 8) {
      #expect(Self.decrypted(cipher, Self.encrypted, clear: flipped(Self.clear, bit)) == nil)
    }
    for bit in 0..<(Self.nonce.count * 8) {
      #expect(Self.decrypted(cipher, Self.encrypted, nonce: flipped(Self.nonce, bit)) == nil)
    }
    #expect(try Self.decrypted(AES256GCM(key: flipped(Self.key, 0)), Self.encrypted) == nil)
    #expect(Self.decrypted(cipher, Self.encrypted) == Self.text, "a refusal left something behind")
  }

  @Test("A key of another length is refused", arguments: [0, 16, 31, 33])
  func keyLength(count: Int) {
    #expect(throws: CryptoError.unavailable(algorithm: "AES-256-GCM")) {
      try AES256GCM(key: [UInt8](repeating: 1, count: count))
    }
  }
}
