package import Crypto

/// The keyed hash of the network that an address is of, by which the edge says that many requests come from one place and
/// not from which. It is under a key of the ring made for nothing else, and another with each day, in UTC: hashes of one
/// network on two days have nothing in common, so that nobody can be followed for longer. Whoever has the key could try
/// all networks there are. For one thread at a time.
package final class NetworkHasher {
  private static let dayMilliseconds: Int64 = 86_400_000

  private let keys: RingKeys<HMACSHA256>

  /// Throws where libcrypto has no HMAC-SHA-256: fatal.
  package init(ring: KeyRing) throws(CryptoError) {
    keys = try RingKeys(ring: ring, purpose: .networkHash)
  }

  /// The first 32 bits of the HMAC over the day and the network; never 0, which stands for no network.
  ///
  /// - Parameters:
  ///   - bits: those of the network's first address, as one of IPv6.
  ///   - prefixLength: how many of them count, from 0 to 128.
  ///   - now: a moment of the day.
  package func hash(bits: UInt128, prefixLength: Int, now: Timestamp) -> UInt32 {
    let (days, rest) = now.milliseconds.quotientAndRemainder(dividingBy: Self.dayMilliseconds)
    var input: [UInt8] = []
    // A function of two things under one key is, for each day, one of its own: no key has to be made anew at midnight.
    ServeToken.append(rest < 0 ? days - 1 : days, to: &input)
    ServeToken.append(bits, to: &input)
    input.append(UInt8(clamping: prefixLength))
    let hash: UInt32 = withUnsafeTemporaryAllocation(byteCount: HMACSHA256.byteCount, alignment: 8) { output in
      input.withUnsafeBytes { keys.signing(at: now).key.authenticate($0, into: output) }
      return ServeToken.load(UnsafeRawBufferPointer(output), 0)
    }
    return max(hash, 1)
  }
}
