import CLibcrypto

/// What libcrypto could not do. It lies in the machine's configuration or memory, never in what a peer sent: fatal.
package enum CryptoError: Error, Equatable {
  /// The library offers no such algorithm, or would not take the key.
  case unavailable(algorithm: String)
}

/// HMAC-SHA-256 (RFC 2104) under one key. The context is made once; each MAC starts it again without the cost of a new
/// key. For one thread at a time: it is not `Sendable`.
package final class HMACSHA256 {
  /// The length of a MAC.
  package static let byteCount = 32

  private let context: OpaquePointer

  /// A context for `key`, of any length but 0.
  package init(key: [UInt8]) throws(CryptoError) {
    guard !key.isEmpty, let algorithm = EVP_MAC_fetch(nil, "HMAC", nil) else {
      throw CryptoError.unavailable(algorithm: "HMAC")
    }
    defer { EVP_MAC_free(algorithm) }
    guard let context = EVP_MAC_CTX_new(algorithm) else { throw CryptoError.unavailable(algorithm: "HMAC") }
    self.context = context
    guard HMACSHA256.start(context, key: key) else { throw CryptoError.unavailable(algorithm: "HMAC-SHA-256") }
  }

  deinit { EVP_MAC_CTX_free(context) }

  /// Writes the MAC of `bytes` into the first 32 bytes of `output`, which must be at least that long. Allocates nothing.
  package func authenticate(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) {
    authenticate(bytes, UnsafeRawBufferPointer(start: nil, count: 0), into: output)
  }

  /// The same for `first` followed by `second`, without putting them together. Where both vary in length, what
  /// separates them must be part of `first`.
  package func authenticate(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) {
    precondition(output.count >= HMACSHA256.byteCount, "An HMAC-SHA-256 needs 32 bytes.")
    var length = 0
    // With the key in place none of these can fail but for want of memory, and a wrong MAC must not be used.
    let done =
      EVP_MAC_init(context, nil, 0, nil) == 1 && update(first) && update(second)
      && EVP_MAC_final(context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), &length, output.count) == 1
    precondition(done && length == HMACSHA256.byteCount, "libcrypto could not compute an HMAC-SHA-256.")
  }

  /// The MAC of `bytes` as an array.
  package func authenticate(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    let input = Array(bytes)
    return [UInt8](unsafeUninitializedCapacity: HMACSHA256.byteCount) { output, count in
      input.withUnsafeBytes { authenticate($0, into: UnsafeMutableRawBufferPointer(output)) }
      count = HMACSHA256.byteCount
    }
  }

  /// Whether `mac` is the MAC of `bytes`, in a time that does not depend on where they differ.
  package func isValid(_ mac: UnsafeRawBufferPointer, for bytes: UnsafeRawBufferPointer) -> Bool {
    isValid(mac, for: bytes, UnsafeRawBufferPointer(start: nil, count: 0))
  }

  /// Whether `mac` is the MAC of `first` followed by `second`.
  package func isValid(
    _ mac: UnsafeRawBufferPointer, for first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
  ) -> Bool {
    withUnsafeTemporaryAllocation(byteCount: HMACSHA256.byteCount, alignment: 8) { expected in
      authenticate(first, second, into: expected)
      return ConstantTime.areEqual(mac, UnsafeRawBufferPointer(expected))
    }
  }

  private func update(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let address = bytes.baseAddress, !bytes.isEmpty else { return true }
    return EVP_MAC_update(context, address.assumingMemoryBound(to: UInt8.self), bytes.count) == 1
  }

  private static func start(_ context: OpaquePointer, key: [UInt8]) -> Bool {
    var digest = Array("SHA256".utf8CString)
    return digest.withUnsafeMutableBufferPointer { name in
      var parameters = [
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.baseAddress, 0), OSSL_PARAM_construct_end(),
      ]
      return EVP_MAC_init(context, key, key.count, &parameters) == 1
    }
  }
}

/// Comparisons whose time tells nothing about their content.
package enum ConstantTime {
  /// Whether both have the same bytes. Their lengths are no secret: different lengths are unequal at once.
  package static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard left.count == right.count else { return false }
    guard let first = left.baseAddress, let second = right.baseAddress else { return true }
    return CRYPTO_memcmp(first, second, left.count) == 0
  }

  /// The same for arrays.
  package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.withUnsafeBytes { left in right.withUnsafeBytes { right in areEqual(left, right) } }
  }
}
