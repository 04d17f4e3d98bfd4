import Foundation
import Kafka
import LocalProcesses
import Postgres
import Runtime
import Synchronization
import TestServers
import TestServices
import TestValues

/// A whole network of real processes for one test: its own database, a broker without topics, our executables.
///
/// The broker is a real Kafka where there is one, else an embedded one of its own.
final class TestNetwork: Sendable {
  struct Plan: Sendable {
    var partitions = 4
    /// Services to start, by the executable's name after `handbill-`.
    var services = ["ad-selection", "impression-tracking", "click-tracking", "billing", "console"]
    /// Apps that need a topic for their answers.
    var apps: [String]
    /// The catalogue as the file format of `handbill catalog apply`.
    var catalog: String
    var settings: [String: String] = [:]
    /// What only one program is told: a service by the name above, the command as `handbill`.
    var ownSettings: [String: [String: String]] = [:]
  }

  static let keys = "1:" + Data(repeating: 9, count: 32).base64EncodedString()

  let plan: Plan
  let folder: TemporaryFolder
  let databaseURL: String
  let environment: [String: String]
  private let kafka: Mutex<NetworkBroker?>
  private let broker: ChildProcess?
  private let processes = Mutex<[String: ChildProcess]>([:])
  private let ports: [String: Int]
  /// Where the console answers.
  let consolePort: Int
  /// Where the edge does, if it is among the services.
  let edgePort: Int

  var bootstrapServers: String { environment["HANDBILL_KAFKA_BOOTSTRAP_SERVERS"] ?? "" }
  let isBrokerEmbedded: Bool

  /// Starts everything and returns when all services are ready.
  static func started(_ plan: Plan) async throws -> TestNetwork {
    let url = try await TestDatabase.url()
    let broker = try await NetworkBroker.take()
    return try await onOwnThread { try TestNetwork(plan, databaseURL: url, broker: broker) }
  }

  /// The same on a broker that is there, and that whoever made it ends.
  static func started(_ plan: Plan, bootstrapServers: String, databaseURL: String) async throws -> TestNetwork {
    var plan = plan
    plan.settings["HANDBILL_KAFKA_BOOTSTRAP_SERVERS"] = bootstrapServers
    return try await onOwnThread { [plan] in
      try TestNetwork(plan, databaseURL: databaseURL, broker: nil, isBrokerThere: true)
    }
  }

  private init(
    _ plan: Plan, databaseURL: String, broker started: NetworkBroker?, isBrokerThere: Bool = false
  ) throws {
    self.plan = plan
    self.databaseURL = databaseURL
    folder = try TemporaryFolder(prefix: "hbn")
    var environment = [
      "HANDBILL_DATABASE_URL": Self.databaseURL(databaseURL, of: "handbill-command"), "HANDBILL_TOKEN_KEYS": Self.keys,
      "HANDBILL_LOG_LEVEL": "info",
      "SWIFT_BACKTRACE": "enable=no",
    ]
    kafka = Mutex(started)
    isBrokerEmbedded = started == nil && !isBrokerThere
    if isBrokerThere {
      broker = nil
    } else if let started {
      broker = nil
      environment["HANDBILL_KAFKA_BOOTSTRAP_SERVERS"] = started.kafka.bootstrapServers
    } else {
      let socket = folder.path + "/control"
      let broker = try ChildProcess(
        .init(Programs.own.path("handbill"), ["embedded-broker", "--control-socket", socket], input: .pipe))
      self.broker = broker
      let ready = try broker.waitForLine(prefix: "ready ", timeoutMilliseconds: 10_000)
      environment["HANDBILL_KAFKA_BOOTSTRAP_SERVERS"] = String(ready.dropFirst("ready ".count))
      environment["HANDBILL_KAFKA_EMBEDDED"] = "true"
      environment["HANDBILL_KAFKA_CONTROL_SOCKET"] = socket
    }
    environment.merge(plan.settings) { $1 }
    self.environment = environment
    let free = try FreePort.find(count: plan.services.count + 2)
    (consolePort, edgePort) = (free[plan.services.count], free[plan.services.count + 1])
    ports = Dictionary(uniqueKeysWithValues: zip(plan.services, free))
    try prepare()
  }

  private func prepare() throws {
    try command(["topics", "create", "-p", "\(plan.partitions)"] + plan.apps.flatMap { ["--app", $0] })
    let file = folder.path + "/catalog.json"
    try plan.catalog.write(toFile: file, atomically: true, encoding: .utf8)
    try command(["catalog", "apply", file])
    for service in plan.services { try start(service) }
    for service in plan.services { try awaitReadiness(service) }
  }

  /// The address by which a program reaches the database, under its own login: a right that is missing is seen.
  private static func databaseURL(_ url: String, of program: String) -> String { "\(url)&user=\(program)" }

  /// Runs the command `handbill` in this network.
  ///
  /// - Throws: when its exit code is not among `accepting`.
  @discardableResult
  func command(
    _ arguments: [String], accepting: Set<Int32> = [0], settings: [String: String] = [:]
  ) throws -> (status: Int32, output: String) {
    let environment = [environment, plan.ownSettings["handbill"] ?? [:], settings].reduce([:]) { $0.merging($1) { $1 } }
    let run = try Shell.finished(Programs.own.path("handbill"), arguments, environment: environment)
    guard accepting.contains(run.status) else {
      throw CommandFailure(arguments: arguments, status: run.status, said: run.output + run.errors)
    }
    return (run.status, run.output)
  }

  struct CommandFailure: Error, CustomStringConvertible {
    let arguments: [String]
    let status: Int32
    let said: String
    var description: String { "handbill \(arguments.joined(separator: " ")): exit \(status): \(said)" }
  }

  /// Starts a service, also again after it was killed; with other settings than the network's if need be.
  func start(_ service: String, settings: [String: String] = [:]) throws {
    let process = try local(service).start(settings: settings)
    processes.withLock { $0[service] = process }
  }

  func awaitReadiness(_ service: String) throws {
    guard let lack = local(service).awaitReadiness(milliseconds: Waiting.seconds * 1_000) else { return }
    throw CommandFailure(arguments: [service], status: -1, said: "not ready: \(lack)\n\(log(service).suffix(4_000))")
  }

  private func local(_ service: String) -> LocalService {
    LocalService(
      "handbill-" + service, adminPort: ports[service] ?? 0,
      environment: environment.merging([
        "HANDBILL_CONSOLE_PORT": "\(consolePort)", "HANDBILL_EDGE_PORT": "\(edgePort)",
        "HANDBILL_DATABASE_URL": Self.databaseURL(databaseURL, of: "handbill-" + service),
      ]) { $1 }
      .merging(plan.ownSettings[service] ?? [:]) { $1 },
      logFile: folder.path + "/\(service).log")
  }

  /// kill -9.
  func kill(_ service: String) {
    processes.withLock { $0[service] }?.terminate(graceMilliseconds: 0, signal: SIGKILL)
  }

  /// Stops the broker's process, or lets it go on: SIGSTOP, SIGCONT.
  func signalBroker(_ number: Int32) { kafka.withLock { $0?.kafka.signal(number) } }

  /// All that a service has logged.
  func log(_ service: String) -> String {
    (try? String(contentsOfFile: folder.path + "/\(service).log", encoding: .utf8)) ?? ""
  }

  /// Ends all processes in reverse order; the exit code of each service.
  @discardableResult
  func stop() -> [String: Int32] {
    var codes: [String: Int32] = [:]
    for service in plan.services.reversed() {
      guard let process = processes.withLock({ $0[service] }) else { continue }
      if case .exited(let code) = process.terminate(graceMilliseconds: 20_000) { codes[service] = code }
    }
    broker?.closeInput()
    broker?.terminate(graceMilliseconds: 1_000)
    kafka.withLock { kafka in
      kafka?.giveBack()
      kafka = nil
    }
    return codes
  }

  /// Waits until a query that counts gives `wanted`: of what never grows beyond it.
  func awaitCount(_ sql: String, _ wanted: Int) throws {
    let connection = try connection()
    defer { connection.close() }
    try connection.awaitValue(of: sql, Int64(wanted))
  }

  /// Waits until the database says that a condition holds, as it does from then on.
  func awaitCondition(_ condition: String) throws {
    let connection = try connection()
    defer { connection.close() }
    try connection.awaitValue(of: "SELECT \(condition)", true)
  }

  /// Waits until every partition has been granted budget, before which requests rightly go unfilled.
  func awaitAllotments() throws {
    try awaitCondition("(SELECT count(DISTINCT partition) FROM ad_selection.allotment) = \(plan.partitions)")
  }

  /// A connection to the network's database.
  func connection() throws -> PostgresConnection { try PostgresConnection(PostgresConfiguration(databaseURL)) }
}

extension PostgresConnection {
  struct NotSeen: Error, CustomStringConvertible {
    let description: String
  }

  /// Waits until a query's first value is `wanted`.
  ///
  /// - Throws: `NotSeen` when it does not become so.
  func awaitValue<Value: PostgresValue & Equatable>(of sql: String, _ wanted: Value) throws {
    var seen: Value?
    let isSeen = try Waiting.until {
      seen = try query(sql).first?.decode(0)
      return seen == wanted
    }
    if !isSeen { throw NotSeen(description: "\(sql): \(String(describing: seen)) in place of \(wanted)") }
  }
}
