package import Crypto

/// The mark under our MAC on a request that was forwarded to its partition, where it is then decided wherever it lies.
/// It binds the partition and the request's bytes. For one thread at a time.
package final class ForwardingMark {
  /// The length of a mark: the key's number and the MAC.
  package static let byteCount = 2 + HMACSHA256.byteCount

  private let macs: RingMAC

  /// Throws where libcrypto has no HMAC-SHA-256: fatal.
  package init(ring: KeyRing) throws(CryptoError) {
    macs = try RingMAC(ring: ring, purpose: .forwardingMark)
  }

  /// The mark for `payload`, forwarded to `partition` at `now`.
  package func mark(payload: UnsafeRawBufferPointer, partition: Int32, now: Timestamp) -> [UInt8] {
    let key = macs.signing(at: now)
    var mark: [UInt8] = []
    mark.reserveCapacity(ForwardingMark.byteCount)
    ServeToken.append(key.id, to: &mark)
    withUnsafeTemporaryAllocation(byteCount: HMACSHA256.byteCount, alignment: 8) { output in
      withUnsafeBytes(of: partition.bigEndian) { key.mac.authenticate($0, payload, into: output) }
      mark.append(contentsOf: output)
    }
    return mark
  }

  /// Whether `mark` is ours for this payload and partition. `now` is the record's arrival.
  package func verifies(
    _ mark: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, partition: Int32, now: Timestamp
  ) -> Bool {
    guard mark.count == ForwardingMark.byteCount,
      let mac = macs.verifying(id: ServeToken.load(mark, 0), at: now)
    else { return false }
    return withUnsafeBytes(of: partition.bigEndian) { prefix in
      mac.isValid(UnsafeRawBufferPointer(rebasing: mark[2...]), for: prefix, payload)
    }
  }
}
