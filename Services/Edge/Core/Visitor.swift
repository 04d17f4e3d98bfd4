package import AdCore

/// By what the edge judges whoever is connected: settings, and lists in files.
package struct VisitorRules: Sendable {
  /// Proxies whose word is taken for whom they speak for.
  package var trustedProxies = NetworkList([])
  /// The header in which such a proxy names the country, in lower case; nil where none does.
  package var countryHeader: String?
  package var dataCentres = NetworkList([])
  /// Addresses of known bots.
  package var botAddresses = NetworkList([])
  /// Parts of a `User-Agent` that bots have, in lower case, as UTF-8.
  package var botAgents: [[UInt8]] = []

  package init() {}

  /// The longest agent that is looked at, in bytes.
  static let agentBytesMaximum = 512
}

/// Whoever is connected, as the edge sees him.
package struct Visitor: Hashable, Sendable {
  /// What rates go by: of whoever a trusted proxy speaks for, else of the connection. Nil where it cannot be read.
  package let address: NetworkAddress?
  /// The network that he is in; nil where the address is not his own, since a proxy of ours does not say for whom it speaks.
  private let network: NetworkAddress?
  /// A proxy of ours speaks for him.
  private let isBehindProxy: Bool

  /// Looks at where he is, and at nothing that takes long.
  ///
  /// - Parameters:
  ///   - peer: the address of the connection, in text.
  ///   - header: a header's value by its name in lower case; of several lines all, divided by commas: a proxy may add its
  ///     own behind those that a stranger wrote.
  package init(peer: String, header: (String) -> String?, rules: VisitorRules) {
    let connected = NetworkAddress(peer)
    isBehindProxy = connected.map(rules.trustedProxies.contains) ?? false
    let own = isBehindProxy ? Self.forwarded(header("x-forwarded-for") ?? "", rules) : connected
    address = own ?? connected
    network = own?.network
  }

  /// What the edge sees of him without the network's keys: all but the hash of his network.
  ///
  /// - Parameter header: as in ``init(peer:header:rules:)``.
  package func sight(header: (String) -> String?, rules: VisitorRules) -> EdgeSight {
    let agent = (header("user-agent") ?? "").utf8.prefix(VisitorRules.agentBytesMaximum)
    let lowercased = String(decoding: agent, as: UTF8.self).lowercased()
    var country: Country?
    if isBehindProxy, let name = rules.countryHeader { country = header(name).flatMap(Self.lastCountry) }
    let bytes = Array(lowercased.utf8)
    let isBot = address.map(rules.botAddresses.contains) ?? false || rules.botAgents.contains { $0.stands(in: bytes) }
    return EdgeSight(
      country: country, agent: Self.agentClass(lowercased),
      isDataCentre: address.map(rules.dataCentres.contains) ?? false, isKnownBot: isBot)
  }

  /// The hash of his network, of `now`.
  package func network(_ hasher: NetworkHasher, now: Timestamp) -> UInt32? {
    network.map { hasher.hash(bits: $0.bits, prefixLength: $0.prefixLength, now: now) }
  }

  /// The last address that is no proxy of ours: what stands before it, anybody may have written.
  private static func forwarded(_ list: String, _ rules: VisitorRules) -> NetworkAddress? {
    for part in list.split(separator: ",").reversed() {
      guard let address = NetworkAddress(part.drop { $0 == " " }.prefix { $0 != " " }) else { return nil }
      if !rules.trustedProxies.contains(address) { return address }
    }
    return nil
  }

  /// What the nearest proxy says, in the same way.
  private static func lastCountry(_ list: String) -> Country? {
    list.split(separator: ",").last.flatMap { Country($0.filter { $0 != " " }.uppercased()) }
  }

  private static func agentClass(_ agent: String) -> AgentClass {
    if agent.hasPrefix("handbill") { return .app }
    if agent.hasPrefix("mozilla/") { return .browser }
    let tools = ["curl/", "wget/", "python", "go-http", "java/", "okhttp", "node", "libwww", "httpie", "ruby"]
    return tools.contains { agent.hasPrefix($0) } ? .tool : .unknown
  }
}

extension [UInt8] {
  /// Byte by byte: characters of a stranger's text may take long to be told apart.
  fileprivate func stands(in text: [UInt8]) -> Bool {
    guard let first, count <= text.count else { return false }
    return (0...(text.count - count)).contains { start in
      text[start] == first && text[start..<(start + count)].elementsEqual(self)
    }
  }
}
