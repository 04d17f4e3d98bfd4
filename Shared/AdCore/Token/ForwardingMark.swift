package import Crypto

/// The mark under our MAC on a request that was forwarded to its partition, where it is then decided wherever it lies.
/// It binds the partition and the request's bytes. It is text (base64), as every header that we write. For one thread
/// at a time.
package final class ForwardingMark {
  /// The length of a mark in bytes: the key's number and the MAC, in base64.
  package static let byteCount = (rawByteCount + 2) / 3 * 4

  private static let rawByteCount = 2 + HMACSHA256.byteCount

  private let keys: RingKeys<HMACSHA256>

  /// Throws where libcrypto has no HMAC-SHA-256: fatal.
  package init(ring: KeyRing) throws(CryptoError) {
    keys = try RingKeys(ring: ring, purpose: .forwardingMark)
  }

  /// The mark for `payload`, forwarded to `partition` at `now`.
  package func mark(payload: UnsafeRawBufferPointer, partition: Int32, now: Timestamp) -> [UInt8] {
    let key = keys.signing(at: now)
    var mark: [UInt8] = []
    mark.reserveCapacity(ForwardingMark.rawByteCount)
    ServeToken.append(key.id, to: &mark)
    withUnsafeTemporaryAllocation(byteCount: HMACSHA256.byteCount, alignment: 8) { output in
      withUnsafeBytes(of: partition.bigEndian) { key.key.authenticate($0, payload, into: output) }
      mark.append(contentsOf: output)
    }
    return Array(Base64.encode(mark).utf8)
  }

  /// Whether `mark` is ours for this payload and partition. `now` is the record's arrival.
  package func verifies(
    _ mark: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, partition: Int32, now: Timestamp
  ) -> Bool {
    guard mark.count == ForwardingMark.byteCount, let raw = Base64.decode(String(decoding: mark, as: UTF8.self)),
      raw.count == ForwardingMark.rawByteCount
    else { return false }
    return raw.withUnsafeBytes { raw in
      guard let mac = keys.verifying(id: ServeToken.load(raw, 0), at: now) else { return false }
      return withUnsafeBytes(of: partition.bigEndian) { prefix in
        mac.isValid(UnsafeRawBufferPointer(rebasing: raw[2...]), for: prefix, payload)
      }
    }
  }
}
