internal import AdCore
internal import AdEvents
internal import ImpressionTrackingCore
internal import Pipeline
internal import PipelineHost
internal import Runtime

@main
enum ImpressionTrackingMain: Service {
  struct Configuration: Sendable {
    var pipeline: PipelineSettings
    var ring: KeyRing?
    var windows: Windows
    var retention: Retention
  }

  static let name = "handbill-impression-tracking"
  static let summary = "Decides which impressions count: one for each served ad, inside its life."
  static let lingerMilliseconds = 5
  static let configurationKeys =
    PipelineSettings.declarations(lingerMilliseconds: lingerMilliseconds)
    + [NetworkKeys.ring.declaration] + Retention.declarations + WindowSettings.declarations
  static let metrics = HostMetrics.declarations

  static func configuration(_ reader: inout ConfigurationReader) -> Configuration {
    Configuration(
      pipeline: PipelineSettings(reader: &reader, lingerMilliseconds: lingerMilliseconds),
      ring: reader.value(NetworkKeys.ring), windows: WindowSettings.windows(reader: &reader),
      retention: Retention(reader: &reader))
  }

  static func start(_ configuration: Configuration, _ context: ServiceContext) throws {
    guard let ring = configuration.ring else { throw ExitCode.configuration }
    let service = ImpressionTracking(ring: ring, windows: configuration.windows)
    let days = ImpressionTables.days(configuration.retention)
    try ServiceHost.start(
      service: service, tables: ImpressionTables(windows: configuration.windows), settings: configuration.pipeline,
      context: context
    ) {
      _ = try configuration.pipeline.connections.migratedDatabase(applicationName: name, days: days, context: context)
      InputTopics.check(of: .impressionTracking, connections: configuration.pipeline.connections, context: context)
    }
  }

  static func main() { ServiceMain.run(Self.self) }
}
