internal import AdCore
internal import JSON

/// What the edge saw of whoever asked, as a decision's row keeps it.
struct StoredSight: Hashable, Sendable {
  /// The country, if it is the edge's word; else the row's is the device's own.
  let country: String?
  let agent: StoredMeaning
  let isDataCentre: Bool
  let isKnownBot: Bool
  /// The keyed hash of the network in hexadecimal digits; nil where there is none, or none any more.
  let network: String?

  /// Nil where the request did not come by the edge.
  init?(_ row: JSONValue) {
    guard let flags = row["edge_flags"]?.integerValue else { return nil }
    country = EdgeFlag.country.isSet(in: flags) ? row["country"]?.textValue : nil
    agent = StoredMeaning.agentClass(flags >> EdgeFlag.agentShift)
    isDataCentre = EdgeFlag.dataCentre.isSet(in: flags)
    isKnownBot = EdgeFlag.bot.isSet(in: flags)
    network = row["edge_network"]?.integerValue.map { number in
      let digits = String(UInt32(truncatingIfNeeded: number), radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }
  }

  /// For programs.
  var json: JSONValue {
    [
      "country": .optional(country), "agent": .text(agent.name), "isDataCentre": .flag(isDataCentre),
      "isKnownBot": .flag(isKnownBot), "network": .optional(network),
    ]
  }

  /// For people.
  var text: String {
    let words = [
      country.map { "a trusted proxy places it in \($0)" } ?? "no trusted proxy said where",
      isDataCentre ? "its address is a data centre's" : "its address is in no list of data centres",
      isKnownBot ? "it is a known bot" : "it is in no list of bots",
      network.map { "its network is called \($0) on that day" } ?? "its network is not known",
    ]
    return "It came by the edge, from \(agent.words): \(words.joined(separator: "; "))."
  }
}
