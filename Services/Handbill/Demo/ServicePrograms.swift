import Foundation
import Runtime
import Supervision

/// The services' executables, which lie beside the command's own.
struct ServicePrograms: Sendable {
  /// The services, started.
  struct Started: Sendable {
    var processes: [ServiceProcess] = []
    var consoleURL: String?
  }

  /// The order of starting: who reads is there before who writes.
  private static let names = [
    "handbill-billing", "handbill-click-tracking", "handbill-impression-tracking", "handbill-ad-selection",
  ]
  private static let consoleName = "handbill-console"

  private let folder: String
  /// Whether the console is built; without it the command publishes the catalogue.
  private let hasConsole: Bool

  /// The path of this program.
  static var ownPath: String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
  }

  /// - Throws: `DemoFailure` that names what is not built.
  static func find() throws -> ServicePrograms {
    let folder = URL(fileURLWithPath: ownPath).deletingLastPathComponent().path
    let missing = names.filter { !FileManager.default.isExecutableFile(atPath: "\(folder)/\($0)") }
    guard missing.isEmpty else {
      throw DemoFailure("\(missing.joined(separator: ", ")) must lie beside this program in \(folder): build it")
    }
    let hasConsole = FileManager.default.isExecutableFile(atPath: "\(folder)/\(consoleName)")
    return ServicePrograms(folder: folder, hasConsole: hasConsole)
  }

  /// Starts all of them, each with an admin port and a log file of its own.
  func start(
    kafka: KafkaPlace, databaseURL: String, folder: DemoFolder, supervisor: Supervisor,
    tell: @escaping @Sendable (String) -> Void
  ) throws -> Started {
    let keys = try folder.tokenKeysFile()
    let names = hasConsole ? [Self.consoleName] + Self.names : Self.names
    let ports = try FreePort.find(count: names.count + 1)
    let consolePort = ports[names.count]
    var environment: [String: String?] = [
      "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrapServers,
      "HANDBILL_KAFKA_EMBEDDED": kafka.isEmbedded ? "true" : "false", "HANDBILL_DATABASE_URL": databaseURL,
      "HANDBILL_TOKEN_KEYS": nil, "HANDBILL_TOKEN_KEYS_FILE": keys, "HANDBILL_LOG_LEVEL": "info",
      "HANDBILL_CONSOLE_PORT": String(consolePort),
    ]
    // Two cores serve five processes here: more threads would only wait for each other.
    environment["HANDBILL_WORKERS"] = "1"
    var started = Started()
    for (index, name) in names.enumerated() {
      let process = try ServiceProcess(
        name: name, executable: "\(self.folder)/\(name)", adminPort: ports[index], environment: environment,
        logFile: folder.file("logs/\(name).log"), note: tell)
      supervisor.add(name) { process.stop() }
      started.processes.append(process)
    }
    if hasConsole {
      started.consoleURL = "http://127.0.0.1:\(consolePort)/"
    } else {
      let keeper = CatalogKeeper(kafka: kafka, databaseURL: databaseURL, tell: tell)
      supervisor.add("catalogue") { keeper.stop() }
    }
    return started
  }
}
