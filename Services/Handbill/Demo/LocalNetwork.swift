internal import AdCore
internal import Foundation
internal import Kafka
internal import LocalProcesses
internal import Migrations
internal import Postgres
internal import Runtime
internal import Threads

/// A whole network on this machine: broker, database, schema, topics, catalogue and services, started in this order and
/// stopped in reverse. Whatever happens to this process, nothing of it is left running.
struct LocalNetwork: Sendable {
  let settings: LocalNetworkSettings
  let folder: DemoFolder
  let kafka: KafkaAddress
  let databaseURL: String
  let services: [ServiceProcess]
  let apps: [AppID]
  /// Where people look.
  let consoleURL: String
  /// Where devices ask, without a slash at its end.
  let edgeURL: String
  /// What ad selection encrypts tokens with.
  let tokenKeysFile: String
  private let supervisor: Supervisor

  /// What runs no more although nobody stopped it, in the order of starting.
  var ended: [String] { supervisor.ended }

  /// Stops everything in order. Blocks.
  func stop() { supervisor.stopAllAndWait() }

  /// Where scripts find the console; without a slash at its end, so that paths follow.
  static let consoleVariable = "HANDBILL_CONSOLE_URL"

  /// Where scripts find the edge.
  static let edgeVariable = "HANDBILL_EDGE_URL"

  /// Where scripts find a program's metrics, such as `HANDBILL_AD_SELECTION_METRICS_URL`.
  static func metricsVariable(_ program: String) -> String {
    program.replacing("-", with: "_").uppercased() + "_METRICS_URL"
  }

  /// The environment in which other commands work on this network, and scripts find its places.
  var environment: [String: String] {
    var environment = [
      "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrapServers, "HANDBILL_DATABASE_URL": databaseURL,
    ]
    if kafka.isEmbedded { environment["HANDBILL_KAFKA_EMBEDDED"] = "true" }
    environment["HANDBILL_KAFKA_CONTROL_SOCKET"] = kafka.controlSocket
    environment["HANDBILL_TOKEN_KEYS_FILE"] = tokenKeysFile
    environment[Self.consoleVariable] = String(consoleURL.dropLast())
    environment[Self.edgeVariable] = edgeURL
    for service in services { environment[Self.metricsVariable(service.name)] = service.service.metricsURL }
    return environment
  }

  /// Starts all and returns when every service is ready. Blocks.
  ///
  /// - Parameter tell: is told each step, and whatever happens to the services later.
  /// - Throws: whatever failed; what was started is stopped again.
  static func start(
    _ settings: LocalNetworkSettings, stop: StopRequest, tell: @escaping @Sendable (String) -> Void
  ) throws -> LocalNetwork {
    let supervisor = Supervisor()
    do {
      return try Builder(settings: settings, stop: stop, tell: tell, supervisor: supervisor).build()
    } catch {
      supervisor.stopAllAndWait()
      throw error
    }
  }
}

extension LocalNetwork {
  private enum Database {
    /// A server of our own, on which each program has its own login.
    case own(PrivatePostgres)
    case given(url: String)

    static let name = "handbill"

    func url(login: String = PrivatePostgres.administrator) -> String {
      switch self {
      case .own(let server): server.url(database: Self.name, user: login)
      case .given(let url): url
      }
    }
  }

  /// The steps of a start.
  private struct Builder {
    let settings: LocalNetworkSettings
    let stop: StopRequest
    let tell: @Sendable (String) -> Void
    let supervisor: Supervisor

    private static let readyMilliseconds = 90_000
    private static let brokerStartMilliseconds = 10_000

    func build() throws -> LocalNetwork {
      let folder = try DemoFolder(settings.folder)
      let programs = try ServicePrograms()
      let kafka = try startKafka(folder)
      try stop.check()
      let database = try startDatabase(folder)
      let databaseURL = database.url()
      try stop.check()
      let seed = SeedNetwork(now: SystemClock().now)
      let connection = try DatabaseAddress.connect(databaseURL)
      if let given = settings.database {
        try GivenServers.take(connection, namedBy: given.variable, into: folder, seed: seed)
      }
      let applied = try MigrationRunner().up(connection)
      if case .own = database { try DatabaseUser.makeLogins(connection) }
      connection.close()
      tell(applied.isEmpty ? "the schema is up to date" : "applied \(applied.count) migrations")
      let apps = seed.apps.map(\.id)
      let topics = NetworkTopics(kafka: kafka, partitions: settings.partitions)
      let made = try topics.make(topics.settings(apps: apps))
      tell("\(made.count) topics with \(settings.partitions) partitions")
      try acceptLogs(folder, kafka, databaseURL)
      try SeedCommand.apply(seed, databaseURL: databaseURL)
      try stop.check()
      let services = try programs.start(
        kafka: kafka, databaseURL: { database.url(login: $0) }, folder: folder, supervisor: supervisor, tell: tell)
      try awaitReadiness(services, folder)
      return LocalNetwork(
        settings: settings, folder: folder, kafka: kafka, databaseURL: databaseURL, services: services.processes,
        apps: apps, consoleURL: services.consoleURL, edgeURL: services.edgeURL,
        tokenKeysFile: try folder.tokenKeysFile(), supervisor: supervisor)
    }

    private func startKafka(_ folder: DemoFolder) throws -> KafkaAddress {
      switch settings.kafka {
      case .external(let servers):
        let kafka = KafkaAddress(bootstrapServers: servers, isEmbedded: false)
        try GivenServers.take(kafka, into: folder)
        tell("Kafka at \(servers)")
        return kafka
      case .local:
        let broker = try LocalKafka(LocalKafka.Configuration(folder: folder.file("kafka")))
        supervisor.add("kafka", isRunning: { broker.isRunning }, stop: { broker.stopAndWait() })
        try broker.startAndWait()
        tell("Kafka at \(broker.bootstrapServers), started in \(folder.file("kafka"))")
        return KafkaAddress(bootstrapServers: broker.bootstrapServers, isEmbedded: false)
      case .embedded:
        // A socket's path may have 107 bytes, and the folder's may be longer.
        let short = try TemporaryFolder(prefix: "hbd")
        let socket = short.path("broker")
        let child = try supervisor.start(
          "broker",
          ChildProcess.Command(
            Programs.ownPath, ["embedded-broker", "--control-socket", socket], input: .pipe,
            errorOutput: .lines(alsoTo: folder.file("logs/broker.log"))))
        // Kept as long as the broker's member of the supervisor.
        supervisor.add("broker's socket") { short.remove() }
        let line = try child.waitForLine(prefix: "ready ", timeoutMilliseconds: Self.brokerStartMilliseconds)
        let servers = String(line.dropFirst("ready ".count))
        tell("the embedded broker at \(servers)")
        return KafkaAddress(bootstrapServers: servers, isEmbedded: true, controlSocket: socket)
      }
    }

    private func startDatabase(_ folder: DemoFolder) throws -> Database {
      if let given = settings.database {
        tell("the PostgreSQL of \(given.variable)")
        return .given(url: given.url)
      }
      let port = try FreePort.find()
      let server = try PrivatePostgres(PrivatePostgres.Configuration(folder: folder.file("postgres"), port: port))
      supervisor.add("postgres", isRunning: { server.isRunning }, stop: { server.stopAndWait() })
      try server.startAndWait()
      let exists = try server.executeAndWait("SELECT 1 FROM pg_database WHERE datname = '\(Database.name)'")
      if exists.isEmpty { _ = try server.createDatabaseAndWait(Database.name) }
      tell("a PostgreSQL of our own in \(folder.file("postgres"))")
      return .own(server)
    }

    /// A new broker has new logs: the positions of an earlier run belong to others.
    private func acceptLogs(_ folder: DemoFolder, _ kafka: KafkaAddress, _ databaseURL: String) throws {
      let description =
        switch settings.kafka {
        case .embedded: "embedded \(kafka.bootstrapServers) \(SystemClock().now)"
        case .local: "local"
        case .external(let servers): servers
        }
      guard try folder.isBrokerNew(description) else { return }
      let results = try LogAcceptance(kafka: kafka, databaseURL: databaseURL).accept(PipelineSchema.all)
      let count = results.count { $0.outcome == "accepted" }
      if count > 0 { tell("\(count) logs of an earlier broker begin anew") }
    }

    private func awaitReadiness(_ services: ServicePrograms.Started, _ folder: DemoFolder) throws {
      for process in services.processes {
        let lack = process.service.awaitReadiness(
          milliseconds: Self.readyMilliseconds, stop: stop, isAlive: { !process.isGivenUp })
        try stop.check()
        if process.isMisconfigured {
          let log = folder.file("logs/\(process.name).log")
          let lines = (try? String(contentsOfFile: log, encoding: .utf8))?.split(separator: "\n").suffix(4) ?? []
          for line in lines { tell("  \(line)") }
          tell("all that it said: \(settings.path("logs/\(process.name).log"))")
          throw ExitCode.configuration
        }
        if let lack {
          throw DemoFailure(
            "\(process.name) did not get ready; see \(settings.path("logs/\(process.name).log")): \(lack.prefix(300))")
        }
        tell("\(process.name) is ready")
      }
    }
  }
}
