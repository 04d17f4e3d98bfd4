internal import AdCore
internal import EdgeCore
internal import HTTP
internal import Kafka
internal import PipelineHost
internal import Runtime
internal import Threads

@main
enum EdgeMain: Service {
  struct Configuration: Sendable {
    var kafka: KafkaConfiguration
    var ring: KeyRing?
    var address: String
    var port: Int
    var credentials: HTTPCredentials?
    var http: HTTPLimits
    var exchange: EdgeExchange.Limits
    var answerPartition: Int32?
    var rates: [RatedParty: Rate]
    var origins: AllowedOrigins
    var trustedProxies: [NetworkAddress]
    var countryHeader: String?
    var dataCentres: String?
    var bots: String?
    var creatives: String?
    var creativeBytesMaximum: Int
  }

  static let name = "handbill-edge"
  static let summary = "Takes requests for ads and events of devices over HTTP, and writes them to Kafka."
  static let configurationKeys =
    [
      CommonKeys.kafkaBootstrapServers.declaration, ConnectionSettings.embeddedBroker.declaration,
      ConnectionSettings.kafkaPropertiesKey.declaration, NetworkKeys.ring.declaration,
    ] + EdgeKeys.declarations
  static let metrics = EdgeMetrics.declarations + [HostMetrics.records, HostMetrics.brokerOpenings]

  /// Bodies that have come in part or wait for their answers: 128 of the longest.
  private static let bodyBytesInAllMaximum = 32 << 20
  /// Answers that nobody has read: 8,000 of ads, or 350 of the longest to a batch of events.
  private static let answerBytesInAllMaximum = 16 << 20
  /// A request's line and headers.
  private static let headerBytesMaximum = 8_192
  /// How long requests that have begun may take when the service stops.
  private static let graceMilliseconds = 10_000
  private static let flushMilliseconds: Int32 = 4_000

  static func configuration(_ reader: inout ConfigurationReader) -> Configuration {
    var kafka = KafkaConfiguration(
      bootstrapServers: reader.value(CommonKeys.kafkaBootstrapServers), clientID: name,
      environment: reader.value(ConnectionSettings.embeddedBroker) ? .embedded : .real)
    kafka.properties = reader.value(ConnectionSettings.kafkaPropertiesKey).values
    kafka.lingerMilliseconds = 0
    kafka.bytesInFlightMaximum = reader.value(EdgeKeys.kibibytesInFlight) << 10
    var http = HTTPLimits()
    http.bodyBytesMaximum = ToldEvents.bodyBytesMaximum
    http.bodyBytesInAllMaximum = bodyBytesInAllMaximum
    http.answerBytesInAllMaximum = answerBytesInAllMaximum
    http.headerBytesMaximum = headerBytesMaximum
    http.connectionsMaximum = reader.value(EdgeKeys.connections)
    http.idleSeconds = reader.value(EdgeKeys.idle) / 1_000
    http.threadCount = reader.value(EdgeKeys.threads)
    let ofAddress = reader.value(EdgeKeys.connectionsOfAddress)
    let proxies = reader.value(EdgeKeys.trustedProxies)
    http.connectionsOfAddressMaximum = ofAddress == 0 || !proxies.isEmpty ? nil : ofAddress
    let certificate = reader.value(EdgeKeys.certificate)
    let privateKey = reader.value(EdgeKeys.privateKey)
    if (certificate == nil) != (privateKey == nil) {
      reader.report(EdgeKeys.certificate.declaration.name, "it and the private key belong together: give both or none")
    }
    var exchange = EdgeExchange.Limits()
    exchange.waitingMaximum = reader.value(EdgeKeys.waiting)
    exchange.deliveryMilliseconds = Int64(reader.value(EdgeKeys.delivery))
    return Configuration(
      kafka: kafka, ring: reader.value(NetworkKeys.ring), address: reader.value(EdgeKeys.address),
      port: reader.value(EdgeKeys.port),
      credentials: certificate.flatMap { certificate in
        privateKey.map { HTTPCredentials(certificate: certificate, privateKey: $0) }
      },
      http: http, exchange: exchange,
      answerPartition: reader.value(EdgeKeys.answerPartition).map { Int32(clamping: $0) },
      rates: [
        .address: Rate(perSecond: reader.value(EdgeKeys.addressRate)),
        .client: Rate(perSecond: reader.value(EdgeKeys.clientRate)),
        .app: Rate(perSecond: reader.value(EdgeKeys.appRate)),
      ],
      origins: reader.value(EdgeKeys.origins), trustedProxies: proxies,
      countryHeader: reader.value(EdgeKeys.countryHeader)?.lowercased(),
      dataCentres: reader.value(EdgeKeys.dataCentres), bots: reader.value(EdgeKeys.bots),
      creatives: reader.value(EdgeKeys.creatives),
      creativeBytesMaximum: reader.value(EdgeKeys.creativeMebibytes) << 20)
  }

  static func start(_ configuration: Configuration, _ context: ServiceContext) throws {
    guard let ring = configuration.ring else { throw ExitCode.configuration }
    let rules = try rules(configuration, context)
    let kafka = configuration.kafka.told(to: context.logger)
    BrokerAccess.warn(kafka, context: context)
    let metrics = EdgeMetrics(registry: context.metrics)
    let exchange = EdgeExchange(
      kafka: kafka, limits: configuration.exchange, metrics: metrics,
      logger: context.logger.named("kafka"))
    startDeadlines(exchange, context)
    try Startup.wait(for: "topics", context: context) { try exchange.start() }
    startReader(kafka, configuration, exchange, context)
    let keys = try AppKeyBook(kafka: kafka, ring: ring, context: context)
    let front = try EdgeFront(
      sources: EdgeFront.Sources(
        exchange: exchange, keys: keys,
        creatives: CreativeShelf(
          folder: configuration.creatives, bytesMaximum: configuration.creativeBytesMaximum)),
      gate: EdgeGate(rates: configuration.rates), rules: rules, ring: ring, metrics: metrics, clock: context.clock)
    let allowed = OpenFiles.raiseLimit()
    if allowed < configuration.http.connectionsMaximum + OpenFiles.others {
      context.logger.warning(
        "the process may open fewer files than there may be connections: raise its limit (ulimit -n)",
        ["files": .init(allowed), "connections": .init(configuration.http.connectionsMaximum)])
    }
    let server = try HTTPServer(
      address: configuration.address, port: configuration.port,
      settings: [EdgeKeys.address.declaration.name, EdgeKeys.port.declaration.name],
      router: front.router, limits: configuration.http,
      credentials: configuration.credentials, onFailure: context.logger.named("http").httpFailure)
    context.lifeCycle.onStop("http") {
      front.beginDraining()
      server.stop(graceMilliseconds: graceMilliseconds)
    }
    startCounting(server, context)
    let scheme = configuration.credentials == nil ? "http" : "https"
    context.logger.notice(
      "devices are served", ["url": .text("\(scheme)://\(server.address):\(server.port)")])
  }

  private static func rules(_ configuration: Configuration, _ context: ServiceContext) throws -> EdgeFront.Rules {
    var visitors = VisitorRules()
    visitors.trustedProxies = NetworkList(configuration.trustedProxies)
    visitors.countryHeader = configuration.countryHeader
    do {
      if let path = configuration.dataCentres { visitors.dataCentres = try VisitorLists.networks(path) }
      if let path = configuration.bots { (visitors.botAddresses, visitors.botAgents) = try VisitorLists.bots(path) }
    } catch {
      context.logger.critical("a list cannot be read", ["error": .init("\(error)")])
      throw ExitCode.configuration
    }
    return EdgeFront.Rules(visitors: visitors, origins: configuration.origins)
  }

  private static func startDeadlines(_ exchange: EdgeExchange, _ context: ServiceContext) {
    let heartbeat = context.health.heartbeat("deadlines")
    let thread = OwnerThread("deadlines") { exchange.runDeadlines { heartbeat.beat() } }
    context.lifeCycle.onStop("kafka") {
      exchange.close(timeoutMilliseconds: flushMilliseconds)
      thread.join()
    }
  }

  private static func startReader(
    _ kafka: KafkaConfiguration, _ configuration: Configuration, _ exchange: EdgeExchange, _ context: ServiceContext
  ) {
    let reader = AnswerReader(
      kafka: kafka, partition: configuration.answerPartition, exchange: exchange,
      logger: context.logger.named("answers"))
    let heartbeat = context.health.heartbeat("answers")
    let readiness = context.health.readiness("answers", until: "no answers are read yet")
    let stop = StopRequest()
    let thread = OwnerThread("answers") { reader.run(stop: stop, readiness: readiness) { heartbeat.beat() } }
    context.lifeCycle.onStop("answers") {
      stop.make()
      thread.join()
    }
  }

  private static func startCounting(_ server: HTTPServer, _ context: ServiceContext) {
    let gauge = context.metrics.gauge(EdgeMetrics.connections)
    context.lifeCycle.startRounds("connections") { rest in
      while rest(1_000) { gauge.set(server.connectionCount) }
    }
  }

  static func main() { ServiceMain.run(Self.self) }
}
