internal import EdgeCore
internal import Runtime

/// The edge's configuration keys.
enum EdgeKeys {
  static let address = ConfigurationKey<String>.text(
    "HANDBILL_EDGE_ADDRESS", default: "127.0.0.1",
    help: "The IP address on which devices are served; 0.0.0.0 or :: for all of the machine's.")
  static let port = ConfigurationKey<Int>.integer(
    "HANDBILL_EDGE_PORT", in: 0...65_535, default: 8_480,
    help: "The port on which devices are served; 0 takes a free one and logs it.")
  static let certificate = credential(
    "HANDBILL_EDGE_CERTIFICATE",
    help: "The certificate to serve by TLS with, and those between it and the authority, in PEM; usually by "
      + "HANDBILL_EDGE_CERTIFICATE_FILE. Without it plain HTTP is served, for a proxy that does TLS.")
  static let privateKey = credential(
    "HANDBILL_EDGE_PRIVATE_KEY",
    help: "The certificate's private key, in PEM; usually by HANDBILL_EDGE_PRIVATE_KEY_FILE.")
  static let connections = ConfigurationKey<Int>.integer(
    "HANDBILL_EDGE_CONNECTIONS", in: 1...100_000, default: 12_000,
    help: "Connections at the same time; further ones wait. TLS makes each larger.")
  static let connectionsOfAddress = ConfigurationKey<Int>.integer(
    "HANDBILL_EDGE_CONNECTIONS_OF_ADDRESS", in: 0...100_000, default: 512,
    help: "Connections of one address, of IPv6 of its first 64 bits, at the same time; 0: no limit. Behind trusted "
      + "proxies there is none.")
  static let idle = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_EDGE_IDLE", in: 1_000...600_000, default: 75_000,
    help: "A connection on which nothing comes for so long is closed, and one without a whole request after twice that."
  )
  static let threads = ConfigurationKey<Int>.integer(
    "HANDBILL_EDGE_THREADS", in: 1...64, default: 2, help: "Threads that read requests and write answers.")
  static let waiting = ConfigurationKey<Int>.integer(
    "HANDBILL_EDGE_WAITING", in: 1...200_000, default: 20_000,
    help: "Requests that may wait for their answers at the same time, and batches for Kafka's word; more get 503.")
  static let delivery = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_EDGE_DELIVERY_TIMEOUT", in: 100...60_000, default: 5_000,
    help: "How long a batch of events waits for Kafka's word before it gets 503.")
  static let kibibytesInFlight = ConfigurationKey<Int>.integer(
    "HANDBILL_EDGE_IN_FLIGHT", in: 64...1_048_576, unit: "KiB", default: 16_384,
    help: "What may be on its way to Kafka at the same time; what comes beyond it gets 503.")
  static let answerPartition = ConfigurationKey<Int>.integer(
    "HANDBILL_EDGE_ANSWER_PARTITION", in: 0...1_000_000,
    help:
      "The partition of ads.responses.edge in which this instance reads its answers, modulo their number; by default "
      + "a random one at each start. Instances may share one, and each then reads the other's answers too."
  ).optional()
  static let origins = ConfigurationKey<AllowedOrigins>(
    "HANDBILL_EDGE_ORIGINS", kind: "list of APP=ORIGIN, divided by commas", neutral: AllowedOrigins(),
    default: AllowedOrigins(), defaultText: "none",
    help:
      "From which pages browsers may speak for which app, such as chess=https://chess.example. None: no browser may."
  ) { text in
    AllowedOrigins(text).map(Result.success)
      ?? .failure(ConfigurationValueError("must be pairs such as chess=https://chess.example, divided by commas"))
  }
  static let trustedProxies = ConfigurationKey<[NetworkAddress]>(
    "HANDBILL_EDGE_TRUSTED_PROXIES", kind: "list of addresses or ranges, divided by commas", neutral: [], default: [],
    defaultText: "none",
    help: "Proxies, such as 10.0.0.0/8, whose X-Forwarded-For is believed, and their country header."
  ) { text in
    let parts = text.split(separator: ",").map { $0.filter { $0 != " " } }
    let addresses = parts.compactMap { NetworkAddress($0) }
    return addresses.count == parts.count && addresses.count <= 1_000
      ? .success(addresses)
      : .failure(ConfigurationValueError("must be IP addresses or ranges such as 10.0.0.0/8, divided by commas"))
  }
  static let countryHeader = ConfigurationKey<String>.text(
    "HANDBILL_EDGE_COUNTRY_HEADER", bytesMaximum: 64,
    help: "The header in which a trusted proxy names the country of the address, such as CF-IPCountry; it then counts "
      + "instead of what the device says."
  ).optional()
  static let dataCentres = ConfigurationKey<String>.path(
    "HANDBILL_EDGE_DATA_CENTRES",
    help:
      "A file with an address or range of a data centre in each line; read at the start. Requests from there are marked."
  ).optional()
  static let bots = ConfigurationKey<String>.path(
    "HANDBILL_EDGE_BOTS",
    help:
      "A file with an address, a range, or a part of a User-Agent of a bot in each line; read at the start. Requests of "
      + "such are marked."
  ).optional()
  static let creatives = ConfigurationKey<String>.path(
    "HANDBILL_EDGE_CREATIVES",
    help:
      "A folder of images, each a PNG, JPEG, GIF or WebP file whose name is its SHA-256 in hexadecimal, as "
      + "'handbill creatives add' puts them there; served as /v1/creatives/SHA256. Those of test ads need none."
  ).optional()
  static let creativeMebibytes = ConfigurationKey<Int>.integer(
    "HANDBILL_EDGE_CREATIVE_MEMORY", in: 2...65_536, unit: "MiB", default: 32,
    help: "Memory for images of the folder, kept or on their way; what does not fit gets 503.")
  static let addressRate = rate("HANDBILL_EDGE_ADDRESS_RATE", of: .address, default: 100)
  static let clientRate = rate("HANDBILL_EDGE_CLIENT_RATE", of: .client, default: 10)
  static let appRate = rate("HANDBILL_EDGE_APP_RATE", of: .app, default: 5_000)

  static let declarations = [
    address.declaration, port.declaration, certificate.declaration, privateKey.declaration, connections.declaration,
    connectionsOfAddress.declaration, idle.declaration, threads.declaration, waiting.declaration,
    delivery.declaration, kibibytesInFlight.declaration, answerPartition.declaration, origins.declaration,
    trustedProxies.declaration, countryHeader.declaration, dataCentres.declaration, bots.declaration,
    creatives.declaration,
    creativeMebibytes.declaration, addressRate.declaration, clientRate.declaration, appRate.declaration,
  ]

  private static func credential(_ name: String, help: String) -> ConfigurationKey<String?> {
    ConfigurationKey<String>(name, kind: "PEM", neutral: "", isSecret: true, help: help) { text in
      text.contains("-----BEGIN ")
        ? .success(text + "\n") : .failure(ConfigurationValueError("must be PEM, with a line of -----BEGIN"))
    }.severalLines().optional()
  }

  private static func rate(_ name: String, of party: RatedParty, default perSecond: Int) -> ConfigurationKey<Int> {
    .integer(
      name, in: 0...1_000_000, default: perSecond,
      help:
        "Requests a second of one \(party.rawValue), after \(Rate.burstSeconds) seconds' worth at once; more get 429. A "
        + "batch of events counts as one for each \(Rate.eventsOfRequest), rounded up. 0: no limit.")
  }
}
