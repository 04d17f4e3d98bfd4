import Testing

@testable import Crypto

@Suite("SHA-256 and HMAC-SHA-256")
struct HashTests {
  @Test(
    "SHA-256 gives the published values",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
    ])
  func publishedHashes(text: String, expected: String) {
    #expect(Hexadecimal.text(SHA256.hash(text.utf8)) == expected)
    #expect(Hexadecimal.text(Array(text.utf8).withUnsafeBytes { SHA256.hash($0) }) == expected)
    #expect(Hexadecimal.text(SHA256.hash(text.utf8.lazy.map { $0 })) == expected)
    let short = Array(text.utf8).withUnsafeBytes { SHA256.hash64($0) }
    #expect(short == UInt64(expected.prefix(16), radix: 16))
  }

  @Test(
    "HMAC-SHA-256 gives the values of RFC 4231",
    arguments: [
      (
        [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (
        Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
      ),
      (
        [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
      ),
      (
        [UInt8](repeating: 0xAA, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
    ])
  func publishedMACs(key: [UInt8], message: [UInt8], expected: String) throws {
    let mac = try HMACSHA256(key: key)
    #expect(Hexadecimal.text(mac.authenticate(message)) == expected)
    // The context is started again for each message.
    #expect(Hexadecimal.text(mac.authenticate([1, 2, 3])) != expected)
    #expect(Hexadecimal.text(mac.authenticate(message)) == expected)
  }

  @Test("A MAC over two parts is the MAC over both together, wherever they are cut")
  func parts() throws {
    let mac = try HMACSHA256(key: Array(0..<32))
    let message = [UInt8]("one event of one client".utf8)
    let whole = mac.authenticate(message)
    for cut in 0...message.count {
      var output = [UInt8](repeating: 0, count: 32)
      message.withUnsafeBytes { bytes in
        output.withUnsafeMutableBytes { output in
          mac.authenticate(
            UnsafeRawBufferPointer(rebasing: bytes[..<cut]), UnsafeRawBufferPointer(rebasing: bytes[cut...]),
            into: output)
        }
      }
      #expect(output == whole)
    }
  }

  @Test("A MAC is valid only whole, and only for its message and key")
  func validity() throws {
    let mac = try HMACSHA256(key: Array(0..<32))
    let other = try HMACSHA256(key: Array(1..<33))
    let message: [UInt8] = [1, 2, 3]
    let code = mac.authenticate(message)
    func isValid(_ mac: HMACSHA256, _ code: [UInt8], _ message: [UInt8]) -> Bool {
      code.withUnsafeBytes { code in
        message.withUnsafeBytes { mac.isValid(code, for: $0, UnsafeRawBufferPointer(start: nil, count: 0)) }
      }
    }
    #expect(isValid(mac, code, message))
    #expect(!isValid(other, code, message))
    #expect(!isValid(mac, code, [1, 2, 4]))
    #expect(!isValid(mac, code, []))
    #expect(!isValid(mac, Array(code.dropLast()), message))
    #expect(!isValid(mac, [], message))
    for bit in 0..<256 {
      var altered = code
      altered[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(!isValid(mac, altered, message))
    }
  }

  @Test("There is no MAC under an empty key")
  func emptyKey() {
    #expect(throws: CryptoError.unavailable(algorithm: "HMAC")) { try HMACSHA256(key: []) }
  }

  @Test("Equality in constant time tells every difference")
  func constantTime() {
    func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
      left.withUnsafeBytes { left in right.withUnsafeBytes { ConstantTime.areEqual(left, $0) } }
    }
    #expect(areEqual([], []))
    #expect(areEqual([1, 2, 3], [1, 2, 3]))
    #expect(!areEqual([1, 2, 3], [1, 2]))
    #expect(!areEqual([1, 2, 3], [1, 2, 4]))
    #expect(!areEqual([0, 2, 3], [1, 2, 3]))
  }
}

@Suite("Random numbers and base64")
struct RandomAndBase64Tests {
  @Test("Random words do not repeat, across refills too")
  func randomWords() {
    let random = SecureRandom()
    let words = (0..<1_000).map { _ in random.next() }
    #expect(Set(words).count == 1_000)
  }

  @Test("Random bytes come in the number asked for", arguments: [0, 1, 31, 32, 33, 4_096])
  func randomBytes(count: Int) {
    let bytes = SecureRandom.bytes(count: count)
    #expect(bytes.count == count)
    #expect(count < 16 || bytes != SecureRandom.bytes(count: count))
  }

  @Test(
    "Base64 gives the values of RFC 4648",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ])
  func publishedBase64(text: String, expected: String) {
    #expect(Base64.encode(Array(text.utf8)) == expected)
    #expect(Base64.decode(expected) == Array(text.utf8))
  }

  @Test("Every byte survives base64")
  func everyByte() {
    let bytes = [UInt8](0...255)
    #expect(Base64.decode(Base64.encode(bytes)) == bytes)
  }

  @Test(
    "Base64 takes one text for each sequence of bytes",
    arguments: ["Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zg==\n", " Zg==", "Z=g=", "====", "Zm-v", "Zm_v", "Zmé"])
  func refusedBase64(text: String) {
    #expect(Base64.decode(text) == nil)
  }
}
