internal import AdClient
internal import AdClientKafka
internal import AdCore

/// How simulated devices reach the network.
enum DeviceWay: Sendable {
  /// Over HTTP, as devices do: to the edge at this address.
  case edge(String)
  /// Over one connection to Kafka, as an app's own server does.
  case kafka(KafkaAddress)

  /// The address.
  var name: String {
    switch self {
    case .edge(let address): address
    case .kafka(let address): address.bootstrapServers
    }
  }

  /// The way, made.
  struct Connection: Sendable {
    let transport: AdTransport
    private let kafka: KafkaConnection?

    /// - Throws: where an app has no id that is one.
    init(_ way: DeviceWay, apps: [AppID], log: @escaping AdLog) throws(AdFailure) {
      switch way {
      case .edge(let address):
        transport = .edge(address)
        kafka = nil
      case .kafka(let address):
        let kafka = try KafkaConnection(
          address.bootstrapServers, apps: apps.map(\.text), properties: address.properties,
          isEmbedded: address.isEmbedded, log: log)
        transport = kafka.transport
        self.kafka = kafka
      }
    }

    /// Ends what clients share.
    func close() async { _ = await kafka?.close(timeoutMilliseconds: 2_000) }
  }
}
