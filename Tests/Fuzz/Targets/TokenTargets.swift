import AdCore
import AdEvents
import Crypto

/// What the targets below sign with.
enum FuzzKeys {
  static let secret: [UInt8] = Array("a secret of the fuzzer, 32 bytes.".utf8)
  static let now = Timestamp(milliseconds: 1_277_985_600_000)

  /// A ring with one key, number 1.
  static let ring: KeyRing? = (try? KeyRing.Key(id: 1, secret: secret)).flatMap { try? KeyRing(keys: [$0]) }
}

/// The serve token. An input that begins with an even byte is the token itself; after an odd one it is what a token
/// says in clear, and is encrypted properly before it is opened, so that what lies behind the encryption is reached as well.
package enum TokenTarget {
  static let target = FuzzTarget("serve-token", inputBytesMaximum: 600, seeds: { seeds }, fault: fault)

  private static func fault(_ input: UnsafeRawBufferPointer) -> String? {
    // The same keys for one input are enough: they are for one thread at a time.
    guard let ring = FuzzKeys.ring, let issuer = try? ServeTokenIssuer(ring: ring),
      let opener = try? ServeTokenOpener(ring: ring), let key = key()
    else { return "there are no keys" }
    guard let token = token(input, key) else { return nil }
    guard case .valid(let terms) = opener.open(token, now: FuzzKeys.now) else { return nil }
    // One way only to say the same: or a token could be told apart from its copy.
    guard issuer.issue(terms) == token else { return "a token was taken that nobody issued, or two say the same" }
    return DecodedLimits.fault(in: terms)
  }

  /// Whether an input gets through the encryption, and is a token behind it.
  package static func opens(_ input: [UInt8]) -> Bool {
    guard let ring = FuzzKeys.ring, let opener = try? ServeTokenOpener(ring: ring), let key = key(),
      let token = input.withUnsafeBytes({ token($0, key) })
    else { return false }
    if case .valid = opener.open(token, now: FuzzKeys.now) { return true }
    return false
  }

  private static func token(_ input: UnsafeRawBufferPointer, _ key: AES256GCM) -> [UInt8]? {
    guard let choice = input.first else { return nil }
    let bytes = Array(input.dropping(1))
    return choice & 1 == 1 && bytes.count >= ServeToken.headBytes ? encrypted(bytes, key) : bytes
  }

  /// The derivation of the key is written here again, so that a change of it is seen.
  private static func key() -> AES256GCM? {
    let derived = try? HMACSHA256(key: FuzzKeys.secret).authenticate("handbill sealed serve token".utf8)
    return derived.flatMap { try? AES256GCM(key: $0) }
  }

  /// So is what is encrypted, and with which nonce.
  private static func encrypted(_ open: [UInt8], _ key: AES256GCM) -> [UInt8] {
    let head = Array(open[..<ServeToken.headBytes])
    var text = Array(open[ServeToken.headBytes...])
    var tag = [UInt8](repeating: 0, count: ServeToken.tagBytes)
    text.withUnsafeMutableBytes { text in
      tag.withUnsafeMutableBytes { tag in
        head.withUnsafeBytes { clear in
          key.encrypt(
            text, clear: clear, nonce: UnsafeRawBufferPointer(rebasing: clear[ServeToken.serveIDRange]), tag: tag)
        }
      }
    }
    return head + text + tag
  }

  /// What a token says, in clear; nil for one that is not ours.
  private static func opened(_ token: [UInt8], _ key: AES256GCM) -> [UInt8]? {
    let (head, tag) = (Array(token[..<ServeToken.headBytes]), Array(token.suffix(ServeToken.tagBytes)))
    var text = Array(token[ServeToken.headBytes...].dropLast(ServeToken.tagBytes))
    let isOurs = text.withUnsafeMutableBytes { text in
      head.withUnsafeBytes { clear in
        tag.withUnsafeBytes { tag in
          key.decrypt(
            text, clear: clear, nonce: UnsafeRawBufferPointer(rebasing: clear[ServeToken.serveIDRange]), tag: tag)
        }
      }
    }
    return isOurs ? head + text : nil
  }

  private static var seeds: [[UInt8]] {
    guard let ring = FuzzKeys.ring, let issuer = try? ServeTokenIssuer(ring: ring), let key = key() else { return [] }
    var maker = SampleMaker(seed: 22)
    return (0..<8).flatMap { _ -> [[UInt8]] in
      let token = issuer.issue(maker.terms())
      return [[0] + token, [1] + (opened(token, key) ?? [])]
    }
  }
}

/// The mark under our MAC that a request was forwarded: its length in the first byte, then the mark, then the request.
enum ForwardingTarget {
  static let target = FuzzTarget("forwarding-mark", inputBytesMaximum: 256, seeds: { seeds }, fault: fault)

  private static func fault(_ input: UnsafeRawBufferPointer) -> String? {
    guard let length = input.first else { return nil }
    guard let ring = FuzzKeys.ring, let marks = try? ForwardingMark(ring: ring) else { return "there are no keys" }
    let rest = input.dropping(1)
    let mark = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(length)))
    let payload = rest.dropping(Int(length))
    for partition: Int32 in [0, 3, -1]
    where marks.verifies(mark, payload: payload, partition: partition, now: FuzzKeys.now) {
      let own = marks.mark(payload: payload, partition: partition, now: FuzzKeys.now)
      if own != Array(mark) { return "a mark was taken that nobody made" }
    }
    return nil
  }

  private static var seeds: [[UInt8]] {
    guard let ring = FuzzKeys.ring, let marks = try? ForwardingMark(ring: ring) else { return [] }
    var maker = SampleMaker(seed: 23)
    let payload = maker.click().encoded()
    let mark = payload.withUnsafeBytes { marks.mark(payload: $0, partition: 3, now: FuzzKeys.now) }
    return [[UInt8(mark.count)] + mark + payload]
  }
}
