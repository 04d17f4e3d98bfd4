internal import Crypto

/// What the keys of a ring are used for. Each use has keys of its own, made from the ring's, so that nothing made for one
/// use can pass as made for another.
enum KeyPurpose: String {
  case serveToken = "handbill sealed serve token"
  case forwardingMark = "handbill forwarding mark"
  case clientHash = "handbill client hash"
  case edgeMark = "handbill edge mark"
  case networkHash = "handbill network hash"
  case clickReference = "handbill click reference"
  case serviceMessage = "handbill message between services"
}

/// The ring's keys for one purpose, each with what works by it. For one thread at a time.
final class RingKeys<Key> {
  private struct Entry {
    let id: UInt16
    let key: Key
    /// The last moment at which the key verifies; nil while its use has no end.
    let verifiesUntil: Timestamp?
  }

  private let ring: KeyRing
  private let entries: [Entry]

  /// - Parameter make: what works by a key of 32 bytes.
  init(ring: KeyRing, purpose: KeyPurpose, make: ([UInt8]) throws(CryptoError) -> Key) throws(CryptoError) {
    var entries: [Entry] = []
    for (index, key) in ring.keys.enumerated() {
      let derived = try HMACSHA256(key: key.secret).authenticate(purpose.rawValue.utf8)
      let until = ring.lastSigned(index: index)?.advanced(byMilliseconds: KeyRing.verifiesMilliseconds)
      entries.append(Entry(id: key.id, key: try make(derived), verifiesUntil: until))
    }
    self.ring = ring
    self.entries = entries
  }

  /// Every key there is, whether it still signs or verifies or not.
  var all: [Key] { entries.map(\.key) }

  /// The key that signs at `now`.
  func signing(at now: Timestamp) -> (id: UInt16, key: Key) {
    let entry = entries[ring.signingIndex(at: now)]
    return (entry.id, entry.key)
  }

  /// All keys, that which signs at `now` first.
  func all(signingAt now: Timestamp) -> [Key] {
    let index = ring.signingIndex(at: now)
    return [entries[index].key] + entries.indices.filter { $0 != index }.map { entries[$0].key }
  }

  /// The key `id`, for whoever takes what any key of the ring has signed, whenever that was.
  func key(id: UInt16) -> Key? { entries.first { $0.id == id }?.key }

  /// The key `id`, where it verifies at `now`.
  func verifying(id: UInt16, at now: Timestamp) -> Key? {
    for entry in entries where entry.id == id {
      return entry.verifiesUntil.map { now <= $0 } ?? true ? entry.key : nil
    }
    return nil
  }
}

extension RingKeys where Key == HMACSHA256 {
  /// Keys that make MACs.
  convenience init(ring: KeyRing, purpose: KeyPurpose) throws(CryptoError) {
    try self.init(ring: ring, purpose: purpose) { (key) throws(CryptoError) in try HMACSHA256(key: key) }
  }
}
