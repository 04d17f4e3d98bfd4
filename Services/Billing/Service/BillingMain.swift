internal import AdCore
internal import AdEvents
internal import BillingCore
internal import Pipeline
internal import PipelineHost
internal import Runtime

@main
enum BillingMain: Service {
  struct Configuration: Sendable {
    var pipeline: PipelineSettings
    var ring: KeyRing?
    var billing: BillingSettings
    var retention: Retention
  }

  static let name = "handbill-billing"
  static let summary = "Grants pieces of budget, charges what was seen and tapped, and keeps the ledger."
  static let lingerMilliseconds = 5
  static let configurationKeys =
    PipelineSettings.declarations(lingerMilliseconds: lingerMilliseconds)
    + [NetworkKeys.ring.declaration] + Retention.declarations + AllotmentKeys.declarations + WindowSettings.declarations
  static let metrics = HostMetrics.declarations

  static func configuration(_ reader: inout ConfigurationReader) -> Configuration {
    Configuration(
      pipeline: PipelineSettings(reader: &reader, lingerMilliseconds: lingerMilliseconds),
      ring: reader.value(NetworkKeys.ring), billing: AllotmentKeys.settings(reader: &reader),
      retention: Retention(reader: &reader))
  }

  static func start(_ configuration: Configuration, _ context: ServiceContext) throws {
    guard let ring = configuration.ring else { throw ExitCode.configuration }
    let days = BillingTables.days(configuration.retention)
    let catalog = BudgetCatalog(clock: context.clock)
    let connections = configuration.pipeline.connections
    try ServiceHost.start(
      service: BillingService(ring: ring),
      tables: BillingTables(
        settings: configuration.billing, catalog: catalog, logger: context.logger.named("suspense")),
      settings: configuration.pipeline, context: context
    ) {
      let database = try connections.migratedDatabase(applicationName: name, days: days, context: context)
      InputTopics.check(of: .billing, connections: connections, context: context)
      let funding = BudgetFunding(catalog: catalog, database: database, logger: context.logger.named("funding"))
      try CatalogFollower.start(
        kafka: connections.kafka(clientID: "\(BillingService.name)-catalog", logger: context.logger),
        ring: ring, context: context
      ) { items in
        funding.take(items)
      }
    }
  }

  static func main() { ServiceMain.run(Self.self) }
}

/// How long allotments serve, and what they reserve for clicks, as configuration.
enum AllotmentKeys {
  private static let defaults = BillingSettings()
  private static let longest = 24 * 3_600_000

  static let quiet = key(
    "HANDBILL_ALLOTMENT_QUIET", defaults.quietServeMilliseconds,
    "How long an allotment serves while all partitions together hold little of the free budget.")
  static let usual = key(
    "HANDBILL_ALLOTMENT_USUAL", defaults.usualServeMilliseconds, "How long an allotment serves otherwise.")
  static let scarce = key(
    "HANDBILL_ALLOTMENT_SCARCE", defaults.scarceServeMilliseconds,
    "How long an allotment serves when the free budget cannot serve all partitions.")
  static let endMargin = key(
    "HANDBILL_ALLOTMENT_END_MARGIN", defaults.endMarginMilliseconds,
    "How much longer than the last possible event an allotment is kept.")

  static let scarceClicks = ConfigurationKey<Int>.integer(
    "HANDBILL_SCARCE_CLICKS", in: 0...1_000_000, default: Int(defaults.scarceClicks),
    help: "Below so many clicks' worth of free budget an ad reserves its full click price.")

  static let declarations =
    [quiet, usual, scarce, endMargin, scarceClicks].map(\.declaration) + ClickRateSettings.declarations
    + CapKeys.declarations

  static func settings(reader: inout ConfigurationReader) -> BillingSettings {
    var settings = BillingSettings(windows: WindowSettings.windows(reader: &reader))
    settings.quietServeMilliseconds = Int64(reader.value(quiet))
    settings.usualServeMilliseconds = Int64(reader.value(usual))
    settings.scarceServeMilliseconds = Int64(reader.value(scarce))
    settings.endMarginMilliseconds = Int64(reader.value(endMargin))
    settings.scarceClicks = Int64(reader.value(scarceClicks))
    settings.caps = CapKeys.caps(reader: &reader)
    settings.prior = ClickRateSettings.prior(reader: &reader)
    return settings
  }

  private static func key(_ name: String, _ milliseconds: Int64, _ help: String) -> ConfigurationKey<Int> {
    .milliseconds(name, in: 1...longest, default: Int(milliseconds), help: help)
  }
}
