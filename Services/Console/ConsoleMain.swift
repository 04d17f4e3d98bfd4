internal import AdCore
internal import HTTP
internal import Kafka
internal import Operations
internal import PipelineHost
internal import Postgres
internal import Runtime

@main
enum ConsoleMain: Service {
  struct Configuration: Sendable {
    var connections: ConnectionSettings
    var ring: KeyRing?
    var address: String
    var port: Int
    var hosts: ConsoleHosts
    var role: String
    var reconciliationMilliseconds: Int
    var anomalyLimits: AnomalyLimits
    var anomalyMilliseconds: Int
    var standingMilliseconds: Int
    var passMilliseconds: Int
    var breaker: CircuitBreaker.Limits
    var isBreakerObeyed: Bool
  }

  static let name = "handbill-console"
  static let summary = "Shows the network's figures to people and tools, and publishes the catalogue."
  /// Pages and answers of the API that read at the same time.
  private static let pageConnections = 4

  static let address = ConfigurationKey<String>.text(
    "HANDBILL_CONSOLE_ADDRESS", default: "127.0.0.1",
    help: "The IP address on which pages and API are served. There is no login: put it behind one that has.")
  static let port = ConfigurationKey<Int>.integer(
    "HANDBILL_CONSOLE_PORT", in: 0...65_535, default: 9_300,
    help: "The port on which pages and API are served; 0 takes a free one and logs it.")
  static let role = ConfigurationKey<String>.text(
    "HANDBILL_CONSOLE_ROLE", default: "handbill_console",
    help: "The database role that the console takes on: it reads everything and writes only flags of anomalies, what "
      + "apps are offered (A7) and sums of sealed days; 'none' takes on none.")

  static let configurationKeys =
    ConnectionSettings.declarations
    + [
      NetworkKeys.ring.declaration, address.declaration, port.declaration, ConsoleHosts.names.declaration,
      role.declaration,
      ReconciliationWatch.interval.declaration, OnlineReconciliation.interval.declaration,
      AnomalyWatch.interval.declaration, StandingWatch.interval.declaration,
    ] + AnomalyLimits.declarations + BillingBreaker.declarations
  static let metrics =
    CatalogPublisher.metrics + ReconciliationWatch.metrics + OnlineReconciliation.metrics + BillingBreaker.metrics
    + SealWatch.metrics
    + [AnomalyWatch.flaggedApps, StandingWatch.loweredApps, Rounds.completed, HostMetrics.brokerOpenings]

  static func configuration(_ reader: inout ConfigurationReader) -> Configuration {
    Configuration(
      connections: ConnectionSettings(reader: &reader),
      ring: reader.value(NetworkKeys.ring), address: reader.value(address), port: reader.value(port),
      hosts: ConsoleHosts(reader.value(ConsoleHosts.names)), role: reader.value(role),
      reconciliationMilliseconds: reader.value(ReconciliationWatch.interval),
      anomalyLimits: AnomalyLimits(reader: &reader), anomalyMilliseconds: reader.value(AnomalyWatch.interval),
      standingMilliseconds: reader.value(StandingWatch.interval),
      passMilliseconds: reader.value(OnlineReconciliation.interval), breaker: BillingBreaker.limits(&reader),
      isBreakerObeyed: reader.value(BillingBreaker.isObeyed))
  }

  static func start(_ configuration: Configuration, _ context: ServiceContext) throws {
    guard let ring = configuration.ring else { throw ExitCode.configuration }
    var database = try configuration.connections.migratedDatabase(applicationName: name, context: context)
    if configuration.role != "none" { database.sessionSettings["role"] = configuration.role }
    // Flags, what apps are offered, and the sums of sealed days are all that the console writes, by connections of their
    // own.
    let flaggers = pool(database, 1, "flags", context)
    let seals = pool(database, 1, "seals", context)
    StandingWatch.start(
      pool: pool(database, 1, "standings", context), intervalMilliseconds: configuration.standingMilliseconds,
      context: context)
    // Whatever the address allows, nothing else is written from here.
    database.sessionSettings["default_transaction_read_only"] = "on"
    // Who asks for a page waits for pages only; the heartbeat of the catalogue and the passes wait for nobody.
    let pages = pool(database, pageConnections, "pages", context)
    try Startup.wait(for: "database", context: context) {
      // Of nothing yet: what there was does not delay the heartbeat, without which no paid ad is served.
      _ = try Reports(pages).report(ReportQuery(from: context.clock.now))
    }
    let kafka = configuration.connections.kafka(clientID: name, logger: context.logger)
    BrokerAccess.warn(kafka, context: context)
    let breaker = BillingBreaker(
      limits: configuration.breaker, isObeyed: configuration.isBreakerObeyed, context: context)
    OnlineReconciliation.start(
      OnlineReconciler(pool(database, 1, "passes", context)), breaker: breaker,
      intervalMilliseconds: configuration.passMilliseconds, context: context)
    try CatalogPublisher.start(
      pool: pool(database, 1, "catalog", context), kafka: kafka, ring: ring, breaker: breaker, context: context)
    let reconciliation = ReconciliationWatch.start(
      pool: pool(database, 1, "reconciliation", context),
      intervalMilliseconds: configuration.reconciliationMilliseconds, context: context)
    SealWatch.start(pool: seals, context: context)
    AnomalyWatch.start(
      pool: flaggers, limits: configuration.anomalyLimits, intervalMilliseconds: configuration.anomalyMilliseconds,
      context: context)
    let routes = ConsoleRoutes(pool: pages, hosts: configuration.hosts, clock: context.clock) {
      NetworkState(reconciliation: reconciliation.last, stop: breaker.stop)
    }
    let server = try HTTPServer(
      address: configuration.address, port: configuration.port,
      settings: [address.declaration.name, port.declaration.name],
      router: routes.router, onFailure: context.logger.named("http").httpFailure)
    context.lifeCycle.onStop("http") { server.stop() }
    context.logger.notice(
      "the console can be seen", ["url": .text("http://\(server.address):\(server.port)/")])
  }

  /// Connections of one use, closed when the service stops.
  private static func pool(
    _ database: PostgresConfiguration, _ size: Int, _ use: String, _ context: ServiceContext
  ) -> PostgresPool {
    let pool = PostgresPool(database, size: size)
    context.lifeCycle.onStop("database-\(use)") { pool.close() }
    return pool
  }

  static func main() { ServiceMain.run(Self.self) }
}
