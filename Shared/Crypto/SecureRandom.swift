internal import CLibcrypto

/// Random numbers that nobody can guess, from libcrypto's generator. It takes them in pieces, since one call for 8 bytes
/// costs nearly as much as one for 512. For one thread at a time; a class, so that no copy repeats its numbers.
package final class SecureRandom: RandomNumberGenerator {
  private static let wordCount = 64

  private var words: [UInt64] = []

  package init() {}

  /// The next 64 bits.
  package func next() -> UInt64 {
    if words.isEmpty { refill() }
    return words.removeLast()
  }

  /// `count` random bytes, for keys and salts.
  package static func bytes(count: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { output, initialized in
      unsafe fill(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(output)[..<count]))
      initialized = count
    }
  }

  private func refill() {
    words = unsafe [UInt64](unsafeUninitializedCapacity: SecureRandom.wordCount) { output, initialized in
      unsafe SecureRandom.fill(UnsafeMutableRawBufferPointer(output))
      initialized = SecureRandom.wordCount
    }
  }

  private static func fill(_ output: UnsafeMutableRawBufferPointer) {
    guard let address = output.baseAddress, unsafe !output.isEmpty else { return }
    let result = unsafe RAND_bytes(address.assumingMemoryBound(to: UInt8.self), Int32(clamping: output.count))
    // Without entropy there are no keys and no ids: like the standard library's generator, it stops here.
    precondition(result == 1 && output.count <= Int32.max, "libcrypto has no random bytes.")
  }
}
