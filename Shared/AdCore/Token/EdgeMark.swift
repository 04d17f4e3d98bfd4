package import Crypto

/// What the edge saw of whoever asks for an ad. It is the edge's word, not the client's.
package struct EdgeSight: Hashable, Sendable {
  /// Where the address is, if a proxy that we trust named it.
  package var country: Country?
  package var agent: AgentClass
  /// The address is in a list of data centres.
  package var isDataCentre: Bool
  /// The address or the agent is in a list of bots.
  package var isKnownBot: Bool
  /// ``network``, or 0 for none: so there is one way only to say that there is none.
  private var networkNumber: UInt32

  package init(country: Country?, agent: AgentClass, isDataCentre: Bool, isKnownBot: Bool, network: UInt32? = nil) {
    self.country = country
    self.agent = agent
    self.isDataCentre = isDataCentre
    self.isKnownBot = isKnownBot
    networkNumber = network ?? 0
  }

  /// The keyed hash of the network that the address is of, as ``NetworkHasher`` makes it: 24 bits of IPv4, 48 of IPv6. Nil
  /// where the address is not known; 0 is none.
  package var network: UInt32? {
    get { networkNumber == 0 ? nil : networkNumber }
    set { networkNumber = newValue ?? 0 }
  }

  /// All but the country and the network in one number, as rows keep it: each ``EdgeFlag``, and the agent above them.
  package var flags: UInt8 {
    EdgeFlag.edge.rawValue | (country == nil ? 0 : EdgeFlag.country.rawValue)
      | (isDataCentre ? EdgeFlag.dataCentre.rawValue : 0) | (isKnownBot ? EdgeFlag.bot.rawValue : 0)
      | agent.rawValue << EdgeFlag.agentShift
  }

  static let byteCount = 7

  /// The flags, the country's two letters and the network; zeros for what is not known.
  var bytes: [UInt8] {
    var bytes = [flags]
    ServeToken.append(country?.code ?? 0, to: &bytes)
    ServeToken.append(networkNumber, to: &bytes)
    return bytes
  }

  /// Nil unless these are the ``bytes`` of a sight: there is one way only to say it.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == EdgeSight.byteCount, let agent = AgentClass(rawValue: bytes[0] >> EdgeFlag.agentShift) else {
      return nil
    }
    self.init(
      country: EdgeFlag.country.isSet(in: bytes[0]) ? Country(code: ServeToken.load(bytes, 1)) : nil, agent: agent,
      isDataCentre: EdgeFlag.dataCentre.isSet(in: bytes[0]), isKnownBot: EdgeFlag.bot.isSet(in: bytes[0]),
      network: ServeToken.load(bytes, 3))
    guard self.bytes.elementsEqual(bytes) else { return nil }
  }
}

/// The mark under our MAC on a request that came by the edge: what the edge saw, bound to the record's key and value. It
/// does not bind the partition: such a request is forwarded as any other. It is text (base64), as every header that we
/// write. For one thread at a time.
package final class EdgeMark {
  /// The header that carries it.
  package static let headerName: StaticString = "handbill_edge"
  /// Its length in bytes.
  package static let byteCount = (rawByteCount + 2) / 3 * 4

  /// 128 bits, as of messages between services.
  private static let codeByteCount = HMACSHA256.byteCount / 2
  private static let rawByteCount = 2 + EdgeSight.byteCount + codeByteCount

  private let keys: RingKeys<HMACSHA256>

  /// Throws where libcrypto has no HMAC-SHA-256: fatal.
  package init(ring: KeyRing) throws(CryptoError) { keys = try RingKeys(ring: ring, purpose: .edgeMark) }

  /// The mark for a record that is written at `now`.
  package func make(
    _ sight: EdgeSight, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, now: Timestamp
  ) -> [UInt8] {
    let signing = keys.signing(at: now)
    var mark: [UInt8] = []
    mark.reserveCapacity(Self.rawByteCount)
    ServeToken.append(signing.id, to: &mark)
    mark.append(contentsOf: sight.bytes)
    withCode(by: signing.key, sight: sight.bytes, key: key, value: value) { mark.append(contentsOf: $0) }
    return Array(Base64.encode(mark).utf8)
  }

  /// What the edge saw; nil where the mark is not ours for this key and value. `now` is the record's arrival.
  package func sight(
    _ mark: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, now: Timestamp
  ) -> EdgeSight? {
    guard mark.count == Self.byteCount, let raw = Base64.decode(String(decoding: mark, as: UTF8.self)),
      raw.count == Self.rawByteCount
    else { return nil }
    return raw.withUnsafeBytes { raw -> EdgeSight? in
      let told = UnsafeRawBufferPointer(rebasing: raw[2..<2 + EdgeSight.byteCount])
      guard let signed = keys.verifying(id: ServeToken.load(raw, 0), at: now) else { return nil }
      let isOurs = withCode(by: signed, sight: told, key: key, value: value) { code in
        ConstantTime.areEqual(UnsafeRawBufferPointer(rebasing: raw[(2 + EdgeSight.byteCount)...]), code)
      }
      return isOurs ? EdgeSight(told) : nil
    }
  }

  private func withCode<Result>(
    by signing: HMACSHA256, sight: some Sequence<UInt8>, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    var head = Array(sight)
    // Its length before it: where the key ends must not be a matter of opinion.
    ServeToken.append(Int32(clamping: key.count), to: &head)
    head.append(contentsOf: key)
    return withUnsafeTemporaryAllocation(byteCount: HMACSHA256.byteCount, alignment: 8) { output in
      head.withUnsafeBytes { signing.authenticate($0, value, into: output) }
      return body(UnsafeRawBufferPointer(rebasing: output[..<Self.codeByteCount]))
    }
  }
}
