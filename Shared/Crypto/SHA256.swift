internal import CLibcrypto

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
  /// The length of a hash.
  package static let byteCount = 32

  /// The 32 bytes of the hash of `bytes`.
  package static func hash(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    let direct = bytes.withContiguousStorageIfAvailable { unsafe hash(UnsafeRawBufferPointer($0)) }
    return unsafe direct ?? Array(bytes).withUnsafeBytes { unsafe hash($0) }
  }

  /// The same for bytes in memory, without a copy of them.
  package static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
      unsafe hash(bytes, into: UnsafeMutableRawBufferPointer(output))
      count = byteCount
    }
  }

  /// Writes the hash of `bytes` into the first 32 bytes of `output`, which must be at least that long.
  package static func hash(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) {
    precondition(output.count >= byteCount, "A SHA-256 needs 32 bytes.")
    let result = unsafe withReadableBytes(bytes) { input in
      unsafe CLibcrypto.SHA256(input, bytes.count, output.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
    // It fails only where memory has run out: to go on with a wrong hash would be worse than to stop.
    unsafe precondition(result != nil, "libcrypto could not compute a SHA-256.")
  }

  /// The first 8 bytes of the hash of `bytes`, big-endian: a short identity where collisions do no harm.
  package static func hash64(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    unsafe withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 8) { digest in
      unsafe hash(bytes, into: digest)
      return unsafe UInt64(bigEndian: digest.load(as: UInt64.self))
    }
  }
}

/// Calls `body` with the address of `bytes` as libcrypto wants it: never nil, also where there is nothing to read.
func withReadableBytes<Result>(_ bytes: UnsafeRawBufferPointer, _ body: (UnsafePointer<UInt8>) -> Result) -> Result {
  if let address = bytes.baseAddress { return unsafe body(address.assumingMemoryBound(to: UInt8.self)) }
  var nothing: UInt8 = 0
  return unsafe body(&nothing)
}
