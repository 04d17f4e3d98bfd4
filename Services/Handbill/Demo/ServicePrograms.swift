internal import LocalProcesses
internal import Runtime

/// The services' executables, which lie beside the command's own.
struct ServicePrograms: Sendable {
  /// The services, started.
  struct Started: Sendable {
    var processes: [ServiceProcess]
    /// Where people look.
    var consoleURL: String
    /// Where devices ask.
    var edgeURL: String
  }

  /// The order of starting: who reads is there before who writes, and the console publishes the catalogue.
  private static let names = [
    "handbill-console", "handbill-billing", "handbill-click-tracking", "handbill-impression-tracking",
    "handbill-ad-selection", "handbill-edge",
  ]

  private let programs = Programs.own

  /// - Throws: `DemoFailure` that names what is not built.
  init() throws {
    let missing = programs.missing(among: Self.names)
    guard missing.isEmpty else {
      throw DemoFailure(
        "\(missing.joined(separator: ", ")) must lie beside this program in \(programs.folder): build it")
    }
  }

  /// Starts all of them, each with an admin port and a log file of its own.
  ///
  /// - Parameter databaseURL: by a program's name, which is its login's where it has one.
  func start(
    kafka: KafkaAddress, databaseURL: (String) -> String, folder: DemoFolder, supervisor: Supervisor,
    tell: @escaping @Sendable (String) -> Void
  ) throws -> Started {
    let keys = try folder.tokenKeysFile()
    let ports = try FreePort.find(count: Self.names.count + 2)
    let (consolePort, edgePort) = (ports[Self.names.count], ports[Self.names.count + 1])
    var environment: [String: String?] = [
      "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrapServers,
      "HANDBILL_KAFKA_EMBEDDED": kafka.isEmbedded ? "true" : "false",
      "HANDBILL_TOKEN_KEYS": nil, "HANDBILL_TOKEN_KEYS_FILE": keys, "HANDBILL_LOG_LEVEL": "info",
      "HANDBILL_CONSOLE_PORT": String(consolePort), "HANDBILL_EDGE_PORT": String(edgePort),
      // All devices here have this machine's address.
      "HANDBILL_EDGE_ADDRESS_RATE": "0", "HANDBILL_EDGE_CONNECTIONS_OF_ADDRESS": "0",
      "HANDBILL_DATABASE_MAINTENANCE_URL": nil,
    ]
    // Of another network, where its environment was taken over by this shell: no settings of a service.
    for variable in [LocalNetwork.consoleVariable, LocalNetwork.edgeVariable] { environment[variable] = .some(nil) }
    for name in Self.names { environment[LocalNetwork.metricsVariable(name)] = .some(nil) }
    // Two cores serve six processes here: more threads would only wait for each other.
    environment["HANDBILL_WORKERS"] = "1"
    var started = Started(
      processes: [], consoleURL: "http://127.0.0.1:\(consolePort)/",
      edgeURL: "http://127.0.0.1:\(edgePort)")
    for (index, name) in Self.names.enumerated() {
      environment["HANDBILL_DATABASE_URL"] = databaseURL(name)
      let process = try ServiceProcess(
        LocalService(
          name, programs: programs, adminPort: ports[index], environment: environment,
          logFile: folder.file("logs/\(name).log")), note: tell)
      supervisor.add(name, isRunning: { !process.isGivenUp }, stop: { process.stop() })
      started.processes.append(process)
    }
    return started
  }
}
