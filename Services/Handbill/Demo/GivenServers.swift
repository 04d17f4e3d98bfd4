internal import AdCore
internal import AdEvents
internal import Kafka
internal import Postgres
internal import Runtime

/// The Kafka and the database that the environment names, before a network of this machine takes them in place of its
/// own. Whoever has another network there loses nothing by a variable that is still set: it is refused before anything
/// is written. What was empty is the folder's from then on, whatever comes to it.
enum GivenServers {
  private static let namedMaximum = 3
  private static let questionMilliseconds: Int32 = 10_000

  /// A catalogue that somebody published there is of another network: its services would read ours, and ours theirs.
  ///
  /// - Throws: `ExitCode.configuration`, told on standard error; `KafkaError`.
  static func take(_ kafka: KafkaAddress, into folder: DemoFolder) throws {
    let name = "kafka \(kafka.bootstrapServers)"
    guard try folder.hasUsed(name) || !hasCatalog(kafka) else {
      try refuse(
        "The Kafka at \(kafka.bootstrapServers) has a network's \(Topic.catalog.name), which no run in \(folder.path) has "
          + "made. ",
        advice: "Name the folder that has (--folder), or a Kafka without our topics; --kafka embedded needs none.")
    }
    try folder.noteUse(of: name)
  }

  private static func hasCatalog(_ kafka: KafkaAddress) throws(KafkaError) -> Bool {
    let probe = try KafkaTopicProbe(configuration: kafka.configuration(clientID: "handbill-demo"))
    defer { probe.close(timeoutMilliseconds: 1_000) }
    do throws(KafkaError) {
      let bounds = try probe.bounds(topic: Topic.catalog.name, partition: 0, timeoutMilliseconds: questionMilliseconds)
      return bounds.end > 0
    } catch {
      guard error.kind == .unknownTopic else { throw error }
      return false
    }
  }

  /// A record that the seed network lacks is somebody's: keys that everybody knows would be his network's as well.
  ///
  /// - Parameter variable: what names it.
  /// - Throws: `ExitCode.configuration`, told on standard error; `PostgresError`.
  static func take(
    _ connection: PostgresConnection, namedBy variable: String, into folder: DemoFolder, seed: SeedNetwork
  ) throws {
    let sql = "SELECT concat_ws(' ', system_identifier, current_database()) FROM pg_control_system()"
    let server: String = try connection.query(sql).first?.decode(0) ?? ""
    let name = "database \(server)"
    let others = try folder.hasUsed(name) ? [] : others(connection, than: seed)
    guard others.isEmpty else {
      try refuse(
        "The database that \(variable) names has records that no run in \(folder.path) has made, such as "
          + others.joined(separator: ", ") + ". ",
        advice: "Unset the variable for a PostgreSQL of the demo's own, or name an empty database.")
    }
    try folder.noteUse(of: name)
  }

  private static func others(
    _ connection: PostgresConnection, than seed: SeedNetwork
  ) throws(PostgresError) -> [String] {
    let hasCatalog: Bool? = try connection.query("SELECT to_regclass('catalog.record') IS NOT NULL").first?.decode(0)
    guard hasCatalog == true else { return [] }
    let sql = """
      SELECT key FROM catalog.record WHERE key <> ALL ($1::text[]) AND kind <> 'standing' ORDER BY key LIMIT \(namedMaximum)
      """
    return try connection.query(sql, [seed.records.map(\.key)]).map { row throws(PostgresError) in try row.decode(0) }
  }

  private static func refuse(_ what: String, advice: String) throws -> Never {
    Terminal.note(what + "Nothing was changed. " + advice)
    throw ExitCode.configuration
  }
}
