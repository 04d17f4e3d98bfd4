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
/// says, and is signed properly before it is verified, so that what lies behind the MAC is reached as well.
enum TokenTarget {
  static let target = FuzzTarget("serve-token", inputBytesMaximum: 600, seeds: { seeds }, fault: fault)

  private static func fault(_ input: UnsafeRawBufferPointer) -> String? {
    // The same keys for one input are enough: they are for one thread at a time.
    guard let ring = FuzzKeys.ring, let sealer = try? ServeTokenSealer(ring: ring),
      let opener = try? ServeTokenOpener(ring: ring)
    else { return "there are no keys" }
    guard let choice = input.first else { return nil }
    var token = Array(input.dropping(1))
    if choice & 1 == 1 {
      guard let signed = signed(token) else { return "nothing was signed" }
      token = signed
    }
    guard case .valid(let terms) = opener.open(token, now: FuzzKeys.now) else { return nil }
    guard choice & 1 == 1 || sealer.seal(terms) == token else { return "a token was taken that nobody sealed" }
    // One way only to say the same: or a token could be told apart from its copy.
    guard sealer.seal(terms) == token else { return "two tokens say the same" }
    return DecodedLimits.fault(in: terms)
  }

  /// The derivation of the key is written here again, so that a change of it is seen.
  private static func signed(_ body: [UInt8]) -> [UInt8]? {
    guard let derived = try? HMACSHA256(key: FuzzKeys.secret).authenticate("handbill serve token".utf8),
      let mac = try? HMACSHA256(key: derived).authenticate(body)
    else { return nil }
    return body + mac
  }

  private static var seeds: [[UInt8]] {
    guard let ring = FuzzKeys.ring, let sealer = try? ServeTokenSealer(ring: ring) else { return [] }
    var maker = SampleMaker(seed: 22)
    return (0..<8).flatMap { _ -> [[UInt8]] in
      let token = sealer.seal(maker.terms())
      return [[0] + token, [1] + token.dropLast(ServeToken.tagBytes)]
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
