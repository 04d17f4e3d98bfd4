package import Crypto

/// The MAC of a message between services, under the network's keys: whoever may write to a topic and has no key of ours is
/// believed nothing. It binds topic, partition, key and value, so that no message passes as another one, and the header
/// ``TimelineMark``. It is text (base64), as every header that we write. For one thread at a time.
///
/// A MAC is good for as long as its key is in the ring: topics keep their records for days, and who was away that long
/// must still believe what was written meanwhile.
package final class MessageMAC {
  /// The header that carries it.
  package static let headerName = NetworkHeaders.messageMAC
  /// Its length in bytes: the key's number and the first half of an HMAC-SHA-256, in base64.
  package static let byteCount = rawByteCount / 3 * 4

  /// 128 bits: nobody finds a second message for one, and nobody guesses one.
  private static let codeByteCount = HMACSHA256.byteCount / 2
  private static let rawByteCount = 2 + codeByteCount

  /// Whether a message is the network's own.
  package enum Authenticity: Hashable, Sendable {
    case genuine
    /// There is none, or it is that of another message.
    case wrong
    /// Its key is not in the ring.
    case unknownKey
  }

  private let keys: RingKeys<HMACSHA256>
  /// What is hashed before the value; kept for its room.
  private var head: [UInt8] = []

  /// Throws where libcrypto has no HMAC-SHA-256: fatal.
  package init(ring: KeyRing) throws(CryptoError) {
    keys = try RingKeys(ring: ring, purpose: .serviceMessage)
  }

  /// The MAC of a message that is published at `now`.
  package func make(
    topic: String, partition: Int32, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
    mark: UnsafeRawBufferPointer? = nil, now: Timestamp
  ) -> [UInt8] {
    let signing = keys.signing(at: now)
    var mac: [UInt8] = []
    mac.reserveCapacity(Self.rawByteCount)
    ServeToken.append(signing.id, to: &mac)
    writeHead(topic: topic, partition: partition, key: key, hasValue: value != nil, mark: mark)
    withCode(by: signing.key, value: value) { mac.append(contentsOf: $0) }
    return Array(Base64.encode(mac).utf8)
  }

  /// Judges the MAC that came with a message.
  package func authenticity(
    _ mac: UnsafeRawBufferPointer, topic: String, partition: Int32, key: UnsafeRawBufferPointer?,
    value: UnsafeRawBufferPointer?, mark: UnsafeRawBufferPointer? = nil
  ) -> Authenticity {
    guard mac.count == Self.byteCount, let raw = Base64.decode(String(decoding: mac, as: UTF8.self)),
      raw.count == Self.rawByteCount
    else { return .wrong }
    return raw.withUnsafeBytes { raw in
      guard let signed = keys.key(id: ServeToken.load(raw, 0)) else { return .unknownKey }
      writeHead(topic: topic, partition: partition, key: key, hasValue: value != nil, mark: mark)
      let isGenuine = withCode(by: signed, value: value) { code in
        ConstantTime.areEqual(UnsafeRawBufferPointer(rebasing: raw[2...]), code)
      }
      return isGenuine ? .genuine : .wrong
    }
  }

  /// Each part that varies in length has its length before it.
  private func writeHead(
    topic: String, partition: Int32, key: UnsafeRawBufferPointer?, hasValue: Bool, mark: UnsafeRawBufferPointer?
  ) {
    head.removeAll(keepingCapacity: true)
    ServeToken.append(UInt16(clamping: topic.utf8.count), to: &head)
    head.append(contentsOf: topic.utf8)
    ServeToken.append(partition, to: &head)
    ServeToken.append(key.map { Int32(clamping: $0.count) } ?? -1, to: &head)
    if let key { head.append(contentsOf: key) }
    head.append((hasValue ? 1 : 0) | (mark == nil ? 0 : 2))
    if let mark {
      ServeToken.append(UInt16(clamping: mark.count), to: &head)
      head.append(contentsOf: mark)
    }
  }

  private func withCode<Result>(
    by key: HMACSHA256, value: UnsafeRawBufferPointer?, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    withUnsafeTemporaryAllocation(byteCount: HMACSHA256.byteCount, alignment: 8) { output in
      head.withUnsafeBytes {
        key.authenticate($0, value ?? UnsafeRawBufferPointer(start: nil, count: 0), into: output)
      }
      return body(UnsafeRawBufferPointer(rebasing: output[..<Self.codeByteCount]))
    }
  }
}
