import CLibcrypto

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
  package static let byteCount = 32

  /// The 32 bytes of the hash of `bytes`.
  package static func hash(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    let input = Array(bytes)
    return [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
      count = CLibcrypto.SHA256(input, input.count, output.baseAddress) == nil ? 0 : byteCount
    }
  }
}
