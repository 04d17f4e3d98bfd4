internal import AdCore
internal import AdEvents
internal import Kafka
internal import Postgres
internal import Runtime

/// The Kafka and the database that the environment names, before a network of this machine takes them in place of its
/// own. Whoever has another network there loses nothing by a variable that is still set: it is refused before anything
/// is written.
enum GivenServers {
  private static let namedMaximum = 3
  private static let questionMilliseconds: Int32 = 10_000

  /// A catalogue that somebody published there is of another network: its services would read ours, and ours theirs.
  ///
  /// - Throws: `ExitCode.configuration`, told on standard error; `KafkaError`.
  static func check(_ kafka: KafkaAddress, folder: DemoFolder) throws {
    guard folder.lastBroker != kafka.bootstrapServers else { return }
    let probe = try KafkaTopicProbe(configuration: kafka.configuration(clientID: "handbill-demo"))
    defer { probe.close(timeoutMilliseconds: 1_000) }
    let topic = Topic.catalog.name
    guard try probe.partitionCount(topic: topic, timeoutMilliseconds: questionMilliseconds) > 0,
      try probe.bounds(topic: topic, partition: 0, timeoutMilliseconds: questionMilliseconds).end > 0
    else { return }
    try refuse(
      "The Kafka at \(kafka.bootstrapServers) has a network's \(topic), which no run in \(folder.path) has made. ",
      advice: "Name the folder that has (--folder), or a Kafka without our topics; --kafka embedded needs none.")
  }

  /// A record that the seed network lacks is somebody's: keys that everybody knows would be his network's as well.
  ///
  /// - Throws: `ExitCode.configuration`, told on standard error; `PostgresError`.
  static func check(_ connection: PostgresConnection, namedBy variable: String, seed: SeedNetwork) throws {
    let hasCatalog: Bool? = try connection.query("SELECT to_regclass('catalog.record') IS NOT NULL").first?.decode(0)
    guard hasCatalog == true else { return }
    let others = try connection.query(
      "SELECT key FROM catalog.record WHERE key <> ALL ($1::text[]) ORDER BY key LIMIT \(namedMaximum)",
      [seed.records.map(\.key)]
    ).map { row throws(PostgresError) -> String in try row.decode(0) }
    guard !others.isEmpty else { return }
    try refuse(
      "The database that \(variable) names has records that no demo has made, such as "
        + others.joined(separator: ", ") + ". ",
      advice: "Unset the variable for a PostgreSQL of the demo's own, or name an empty database.")
  }

  private static func refuse(_ what: String, advice: String) throws -> Never {
    Terminal.note(what + "Nothing was changed. " + advice)
    throw ExitCode.configuration
  }
}
