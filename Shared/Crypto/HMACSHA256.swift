internal import CLibcrypto

/// What libcrypto could not do. It lies in the machine's configuration or memory, never in what a peer sent: fatal.
package enum CryptoError: Error, Equatable {
  /// The library offers no such algorithm, or would not take the key.
  case unavailable(algorithm: String)
}

/// HMAC-SHA-256 (RFC 2104) under one key. What the key does to the two hashes is computed once; each MAC goes on from
/// there.
///
/// On SHA256_Update and its like, which OpenSSL 3 would have replaced by EVP_MAC: that allocates and frees its contexts
/// for each MAC, which takes longer than the hashing, and every event has a token to check.
package final class HMACSHA256 {
  /// The length of a MAC.
  package static let byteCount = 32
  private static let blockBytes = 64

  /// SHA-256 after its first block: the key with the inner and the outer padding.
  private var inner: SHA256_CTX
  private var outer: SHA256_CTX

  /// A context for `key`, of any length but 0.
  package init(key: [UInt8]) throws(CryptoError) {
    guard !key.isEmpty else { throw CryptoError.unavailable(algorithm: "HMAC") }
    let key = key.count > HMACSHA256.blockBytes ? SHA256.hash(key) : key
    inner = HMACSHA256.start(key, padding: 0x36)
    outer = HMACSHA256.start(key, padding: 0x5C)
  }

  deinit {
    // Whoever has these states can make MACs.
    unsafe OPENSSL_cleanse(&inner, MemoryLayout.size(ofValue: inner))
    unsafe OPENSSL_cleanse(&outer, MemoryLayout.size(ofValue: outer))
  }

  private static func start(_ key: [UInt8], padding: UInt8) -> SHA256_CTX {
    var block = [UInt8](repeating: padding, count: blockBytes)
    for (index, byte) in key.enumerated() { block[index] ^= byte }
    var context = SHA256_CTX()
    unsafe SHA256_Init(&context)
    unsafe SHA256_Update(&context, block, block.count)
    unsafe OPENSSL_cleanse(&block, block.count)
    return context
  }

  /// Writes the MAC of `bytes` into the first 32 bytes of `output`, which must be at least that long. Allocates nothing.
  package func authenticate(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) {
    unsafe authenticate(bytes, UnsafeRawBufferPointer(start: nil, count: 0), into: output)
  }

  /// The same for `first` followed by `second`, without putting them together. Where both vary in length, what
  /// separates them must be part of `first`.
  package func authenticate(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) {
    precondition(output.count >= HMACSHA256.byteCount, "An HMAC-SHA-256 needs 32 bytes.")
    let code = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self)
    // None of these can fail: they compute in the context that they are given.
    var hash = inner
    unsafe SHA256_Update(&hash, first.baseAddress, first.count)
    unsafe SHA256_Update(&hash, second.baseAddress, second.count)
    unsafe SHA256_Final(code, &hash)
    hash = outer
    unsafe SHA256_Update(&hash, code, HMACSHA256.byteCount)
    unsafe SHA256_Final(code, &hash)
  }

  /// The MAC of `bytes` as an array.
  package func authenticate(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    let input = Array(bytes)
    return unsafe [UInt8](unsafeUninitializedCapacity: HMACSHA256.byteCount) { output, count in
      unsafe input.withUnsafeBytes { unsafe authenticate($0, into: UnsafeMutableRawBufferPointer(output)) }
      count = HMACSHA256.byteCount
    }
  }

  /// Whether `mac` is the MAC of `first` followed by `second`, in a time that does not depend on where they differ.
  package func isValid(
    _ mac: UnsafeRawBufferPointer, for first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
  ) -> Bool {
    unsafe withUnsafeTemporaryAllocation(byteCount: HMACSHA256.byteCount, alignment: 8) { expected in
      unsafe authenticate(first, second, into: expected)
      return unsafe ConstantTime.areEqual(mac, UnsafeRawBufferPointer(expected))
    }
  }
}

/// Comparisons whose time tells nothing about their content.
package enum ConstantTime {
  /// Whether both have the same bytes. Their lengths are no secret: different lengths are unequal at once.
  package static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard left.count == right.count else { return false }
    guard let first = left.baseAddress, let second = right.baseAddress else { return true }
    return unsafe CRYPTO_memcmp(first, second, left.count) == 0
  }
}
