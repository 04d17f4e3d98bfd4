internal import AdCore
internal import AdEvents
internal import ClickTrackingCore
internal import Pipeline
internal import PipelineHost
internal import Runtime

@main
enum ClickTrackingMain: Service {
  struct Configuration: Sendable {
    var pipeline: PipelineSettings
    var ring: KeyRing?
    var windows: Windows
    var retention: Retention
  }

  static let name = "handbill-click-tracking"
  static let summary = "Decides which clicks count: one for each served ad, with its impression, within the limits."
  static let lingerMilliseconds = 5
  static let configurationKeys =
    PipelineSettings.declarations(lingerMilliseconds: lingerMilliseconds)
    + [NetworkKeys.ring.declaration] + Retention.declarations + WindowSettings.declarations
  static let metrics = HostMetrics.declarations

  static func configuration(_ reader: inout ConfigurationReader) -> Configuration {
    let retention = Retention(reader: &reader)
    return Configuration(
      pipeline: PipelineSettings(reader: &reader, lingerMilliseconds: lingerMilliseconds),
      ring: reader.value(NetworkKeys.ring),
      windows: WindowSettings.windows(reader: &reader).withRows(ofDays: retention.eventDays), retention: retention)
  }

  static func start(_ configuration: Configuration, _ context: ServiceContext) throws {
    guard let ring = configuration.ring else { throw ExitCode.configuration }
    let service = ClickTracking(ring: ring)
    let days = ClickTables.days(configuration.retention)
    try ServiceHost.start(
      service: service, tables: ClickTables(windows: configuration.windows), settings: configuration.pipeline,
      context: context
    ) {
      _ = try configuration.pipeline.connections.migratedDatabase(applicationName: name, days: days, context: context)
      InputTopics.check(of: .clickTracking, connections: configuration.pipeline.connections, context: context)
    }
  }

  static func main() { ServiceMain.run(Self.self) }
}
