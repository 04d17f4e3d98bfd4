internal import AdCore
internal import AdEvents
internal import AdSelectionCore
internal import Pipeline
internal import PipelineHost
internal import Runtime

@main
enum AdSelectionMain: Service {
  struct Configuration: Sendable {
    var pipeline: PipelineSettings
    var ring: KeyRing?
    var selection: SelectionSettings
    var clickRates: ClickRates
    var freshness: CatalogFreshness
    var retention: Retention
  }

  static let name = "handbill-ad-selection"
  static let summary = "Answers each request with an ad, or says why there is none."
  /// A batch is whatever has arrived: nobody waits for others' requests.
  static let lingerMilliseconds = 0
  static let configurationKeys =
    PipelineSettings.declarations(lingerMilliseconds: lingerMilliseconds)
    + [NetworkKeys.ring.declaration] + Retention.declarations + WindowSettings.declarations
    + SelectionKeys.declarations
  static let metrics = HostMetrics.declarations + SelectionMetrics.declarations

  static func configuration(_ reader: inout ConfigurationReader) -> Configuration {
    let pipeline = PipelineSettings(reader: &reader, lingerMilliseconds: lingerMilliseconds)
    let windows = WindowSettings.windows(reader: &reader)
    return Configuration(
      pipeline: pipeline, ring: reader.value(NetworkKeys.ring),
      selection: SelectionKeys.settings(&reader, windows: windows), clickRates: SelectionKeys.clickRates(&reader),
      freshness: SelectionKeys.freshness(&reader), retention: Retention(reader: &reader))
  }

  static func start(_ configuration: Configuration, _ context: ServiceContext) throws {
    guard let ring = configuration.ring else { throw ExitCode.configuration }
    let service = try AdSelection(ring: ring)
    let days = SelectionTables.days(configuration.retention)
    let source = CatalogSource(
      freshness: configuration.freshness, clickRates: configuration.clickRates, perform: CatalogWatch.perform)
    let connections = configuration.pipeline.connections
    let kafka = connections.kafka(clientID: "\(AdSelection.name)-catalog", logger: context.logger)
    let catalog = try CatalogWatch(source: source, kafka: kafka, ring: ring, context: context)
    try ServiceHost.start(
      service: service,
      tables: SelectionTables(
        ring: ring, catalog: source, settings: configuration.selection,
        clickRates: configuration.clickRates,
        metrics: SelectionMetrics(registry: context.metrics, clock: context.clock),
        retentionDays: configuration.retention.eventDays),
      settings: configuration.pipeline, alsoGrown: Topic.namedByTokens.map(\.name),
      context: context
    ) {
      _ = try connections.migratedDatabase(applicationName: name, days: days, context: context)
      InputTopics.check(of: .adSelection, connections: connections, context: context)
      try catalog.waitUntilComplete()
    }
  }

  static func main() { ServiceMain.run(Self.self) }
}
