internal import Crypto

/// What the keys of a ring are used for. Each use has keys of its own, made from the ring's, so that no MAC of one use
/// can pass as one of another.
enum MACPurpose: String {
  case serveToken = "handbill serve token"
  case forwardingMark = "handbill forwarding mark"
  case clientHash = "handbill client hash"
}

/// The ring's keys for one purpose, each with its context. For one thread at a time.
final class RingMAC {
  private struct Entry {
    let id: UInt16
    let mac: HMACSHA256
    /// The last moment at which the key verifies; nil while its use has no end.
    let verifiesUntil: Timestamp?
  }

  private let ring: KeyRing
  private let entries: [Entry]

  init(ring: KeyRing, purpose: MACPurpose) throws(CryptoError) {
    var entries: [Entry] = []
    for (index, key) in ring.keys.enumerated() {
      let derived = try HMACSHA256(key: key.secret).authenticate(purpose.rawValue.utf8)
      let until = ring.lastSigned(index: index)?.advanced(byMilliseconds: KeyRing.verifiesMilliseconds)
      entries.append(Entry(id: key.id, mac: try HMACSHA256(key: derived), verifiesUntil: until))
    }
    self.ring = ring
    self.entries = entries
  }

  /// The key that signs at `now`.
  func signing(at now: Timestamp) -> (id: UInt16, mac: HMACSHA256) {
    let entry = entries[ring.signingIndex(at: now)]
    return (entry.id, entry.mac)
  }

  /// The key `id`, where it verifies at `now`.
  func verifying(id: UInt16, at now: Timestamp) -> HMACSHA256? {
    for entry in entries where entry.id == id {
      return entry.verifiesUntil.map { now <= $0 } ?? true ? entry.mac : nil
    }
    return nil
  }
}
