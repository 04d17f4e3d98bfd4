import AdCore
import Foundation
import Kafka
import LocalProcesses
import Migrations
import Postgres
import Runtime
import Synchronization
import TestServers
import TestValues

/// A whole network of real processes that faults are made in: brokers, PostgreSQL behind a proxy, services, console.
///
/// Whatever ends this process, nothing of the network is left running.
final class FaultNetwork: Sendable {
  static let services = ["billing", "click-tracking", "impression-tracking", "ad-selection"]
  private static let database = "handbill"
  private static let readyMilliseconds: Int64 = 90_000

  let needs: NetworkNeeds
  /// Everything of the network lies here.
  let path: String
  let postgres: PrivatePostgres
  /// The services reach PostgreSQL through it alone.
  let proxy: PostgresProxy
  let kafka: LocalKafkaCluster
  private let standby = Mutex<PrivatePostgres?>(nil)
  private let directURL: Mutex<String>
  private let keys = Base64Key.new()
  private let instances = Mutex<[ServiceInstance]>([])
  private let supervisor = Supervisor()
  /// Bad records of others than the devices, since the devices began.
  private let badRecords = Mutex(0)
  /// Whether strangers have written, since the devices began, what may count.
  private let hasStrangers = Mutex(false)
  /// How long services stood still, as faults have measured it.
  private let standstills = Mutex<[Standstill]>([])
  /// The apps that devices carry.
  private let seededApps = Mutex<[String]>([])
  private let say: @Sendable (String) -> Void
  private let disks: [SmallDisk]

  /// Starts everything and returns when all services are ready. Blocks.
  init(_ needs: NetworkNeeds, path: String, say: @escaping @Sendable (String) -> Void) throws {
    self.needs = needs
    self.path = path
    self.say = say
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    chmod(path, 0o711)
    let databaseDisk = try needs.databaseMegabytes.map { try SmallDisk(path: "\(path)/postgres", megabytes: $0) }
    let brokerDisk = try needs.brokerMegabytes.map { try SmallDisk(path: "\(path)/kafka", megabytes: $0) }
    disks = [databaseDisk, brokerDisk].compactMap { $0 }
    for disk in disks { supervisor.add("disk") { disk.remove() } }
    let postgres = try PrivatePostgres(
      .init(folder: "\(path)/postgres", settings: FaultNetwork.databaseSettings(needs)))
    self.postgres = postgres
    supervisor.add("postgres") { postgres.stopAndWait() }
    try postgres.startAndWait()
    directURL = Mutex(try postgres.createDatabaseAndWait(Self.database))
    let proxy = try PostgresProxy(to: postgres.socketPath)
    self.proxy = proxy
    supervisor.add("proxy") { proxy.close() }
    let kafka = try LocalKafkaCluster(folder: "\(path)/kafka", count: needs.brokers)
    self.kafka = kafka
    supervisor.add("kafka") { kafka.killAndWait() }
    do { try fill() } catch {
      close()
      throw error
    }
  }

  deinit { close() }

  private func fill() throws {
    try kafka.startAndWait()
    try command(["migrate", "up"])
    let connection = try connection()
    defer { connection.close() }
    try DatabaseUser.makeLogins(connection)
    let apps = try command(["seed"]).output.split(separator: "\n").compactMap { line -> String? in
      guard line.hasPrefix("app "), let end = line.firstIndex(of: ":") else { return nil }
      return String(line[line.index(line.startIndex, offsetBy: 4)..<end])
    }
    seededApps.withLock { $0 = apps }
    try command(["topics", "create", "-p", "\(needs.partitions)"] + apps.flatMap { ["--app", $0] })
    if needs.hasStandby { try startStandby() }
    for service in ["console"] + Self.services { try startAnother(service) }
    for _ in 1..<needs.selections { try startAnother("ad-selection") }
    try awaitReadiness()
  }

  /// Where it is to be synchronous, nothing is committed from now on that the standby does not have.
  private func startStandby() throws {
    let made = try postgres.makeStandby(folder: "\(path)/standby")
    standby.withLock { $0 = made }
    supervisor.add("standby") { made.stopAndWait() }
    try made.startAndWait()
    if needs.isStandbySynchronous {
      try postgres.executeAndWait("ALTER SYSTEM SET synchronous_standby_names = '*'")
      try postgres.executeAndWait("SELECT pg_reload_conf()")
    }
    try wait("the standby to follow", milliseconds: 60_000) {
      try postgres.executeAndWait("SELECT sync_state FROM pg_stat_replication")
        .contains(needs.isStandbySynchronous ? "sync" : "async")
    }
  }

  /// The standby ends, and is a backup of this moment.
  func takeBackup() throws {
    guard let standby = standby.withLock({ $0 }) else { throw FaultFailure("there is no standby") }
    standby.stopAndWait()
    try standby.detach()
  }

  /// The server is lost, and the backup stands in its place.
  func restoreBackup() throws {
    guard let backup = standby.withLock({ $0 }) else { throw FaultFailure("there is no backup") }
    postgres.killAndWait()
    try backup.startAndWait()
    use(backup)
  }

  /// The standby hears nothing more of the server.
  func cutReplication() throws {
    for pid in try postgres.executeAndWait("SELECT pid FROM pg_stat_replication").compactMap({ Int32($0) }) {
      kill(pid, SIGSTOP)
    }
  }

  private func use(_ server: PrivatePostgres) {
    directURL.withLock { $0 = server.url(database: Self.database) }
    proxy.redirect(to: server.socketPath)
    proxy.cutAll()
  }

  /// The server is lost, and its standby takes its place.
  func failOver() throws {
    guard let standby = standby.withLock({ $0 }) else { throw FaultFailure("there is no standby") }
    postgres.killAndWait()
    try standby.executeAndWait("SELECT pg_promote()")
    use(standby)
  }

  private static func databaseSettings(_ needs: NetworkNeeds) -> [String: String] {
    guard needs.databaseMegabytes != nil else { return [:] }
    return ["max_wal_size": "64MB", "shared_buffers": "32MB", "wal_keep_size": "0"]
  }

  /// Ends everything, the last started first; again does nothing. Blocks.
  func close() { supervisor.stopAllAndWait() }

  /// For the log of this run.
  func note(_ text: String) { say(text) }

  /// Where the tally of a fault's own devices lies.
  var tallyOfOwnDevices: String? {
    let path = "\(path)/own-tally.json"
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }

  /// Keeps what a fault's own devices know to have happened since `startedAt`: requests, and ads viewed.
  func keepTally(startedAt: Timestamp, requests: Int, viewed: Int) throws {
    let none = #"{ "live": 0, "test": 0 }"#
    let tally = """
      {
        "version": 1, "startedAt": "\(startedAt.utcText)", "requests": \(requests),
        "impressions": { "live": \(viewed), "test": 0 }, "clicks": \(none), "accidentalClicks": \(none),
        "rejectedRecords": 0
      }
      """
    try tally.write(toFile: "\(path)/own-tally.json", atomically: true, encoding: .utf8)
  }

  var apps: [String] { seededApps.withLock { $0 } }

  /// Somebody else than the devices wrote so many records that must be rejected.
  func addBadRecords(_ count: Int) { badRecords.withLock { $0 += count } }

  /// How many those were since the last time that somebody asked.
  func takeBadRecords() -> Int {
    badRecords.withLock { count in
      defer { count = 0 }
      return count
    }
  }

  /// Strangers write, at a placement of their own, what may count.
  func expectStrangers() { hasStrangers.withLock { $0 = true } }

  /// Whether they did since the last time that somebody asked.
  func takeStrangers() -> Bool {
    hasStrangers.withLock { hasStrangers in
      defer { hasStrangers = false }
      return hasStrangers
    }
  }

  /// Keeps how long a service stood still, for the result.
  func keep(_ standstill: Standstill) {
    say("\(standstill.service) stood still for \(standstill.milliseconds) ms")
    standstills.withLock { $0.append(standstill) }
  }

  /// What was kept since the last time that somebody asked.
  func takeStandstills() -> [Standstill] {
    standstills.withLock { kept in
      defer { kept = [] }
      return kept
    }
  }

  // MARK: Services

  /// The first process of a service.
  func instance(_ service: String) throws -> ServiceInstance {
    guard let found = instances.withLock({ $0.first { $0.service == service } }) else {
      throw FaultFailure("no \(service) runs")
    }
    return found
  }

  /// All processes of the services that decide.
  var deciders: [ServiceInstance] { instances.withLock { $0.filter { $0.service != "console" } } }

  /// One more process of a service.
  @discardableResult
  func startAnother(_ service: String) throws -> ServiceInstance {
    let number = instances.withLock { $0.count { $0.service == service } }
    var environment: [String: String?] = self.environment
    environment["HANDBILL_DATABASE_URL"] = proxy.url(database: Self.database, user: "handbill-\(service)")
    // Whoever looks into a fault has them say more.
    for (name, usual) in [("HANDBILL_LOG_LEVEL", "info"), ("HANDBILL_KAFKA_PROPERTIES", "")] {
      environment[name] = ProcessInfo.processInfo.environment[name] ?? usual
    }
    environment["HANDBILL_WORKERS"] = "1"
    // Every batch by COPY, so that there is one to stand still in; single INSERTs are in all other networks.
    environment["HANDBILL_INSERTED_ROWS"] = "0"
    // So that budget goes out, comes back and is settled all the time, not once an hour.
    for kind in ["QUIET", "USUAL"] { environment["HANDBILL_ALLOTMENT_\(kind)"] = "4s" }
    environment["HANDBILL_CONSOLE_PORT"] = "\(try FreePort.find())"
    for (name, value) in needs.settings { environment[name] = value }
    let instance = try ServiceInstance(
      LocalService(
        "handbill-\(service)", adminPort: try FreePort.find(), environment: environment,
        logFile: "\(path)/\(service)-\(number + 1).log"))
    instances.withLock { $0.append(instance) }
    supervisor.add(service) { instance.close() }
    return instance
  }

  /// Ends a process that `startAnother` started, for good.
  func end(_ instance: ServiceInstance) {
    instances.withLock { $0.removeAll { $0 === instance } }
    instance.close()
  }

  /// Waits until every process says that it is ready.
  func awaitReadiness() throws {
    for instance in instances.withLock({ $0 }) {
      try wait("\(instance.service) to be ready", milliseconds: Self.readyMilliseconds) { instance.isReady }
    }
  }

  /// Ends that nobody asked for, in words.
  var unexpectedEnds: [String] { instances.withLock { $0 }.flatMap(\.unexpectedEnds) }

  // MARK: Places

  /// The database without the proxy.
  var databaseURL: String { directURL.withLock { $0 } }

  /// The network's own file systems: the database's first, then the brokers'.
  func disk() throws -> SmallDisk {
    guard let disk = disks.first else { throw FaultFailure("the network has no file system of its own") }
    return disk
  }

  /// What programs need to find the network.
  var environment: [String: String] {
    [
      "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrapServers, "HANDBILL_DATABASE_URL": databaseURL,
      "HANDBILL_TOKEN_KEYS": keys,
    ]
  }

  func kafkaConfiguration(_ clientID: String) -> KafkaConfiguration {
    KafkaConfiguration(bootstrapServers: kafka.bootstrapServers, clientID: clientID, environment: .real)
  }

  /// A connection to the database, without the proxy.
  func connection() throws -> PostgresConnection {
    try PostgresConnection(PostgresConfiguration(databaseURL, applicationName: "faults"))
  }

  /// Runs the command `handbill` in this network to its end. Blocks.
  ///
  /// - Throws: `FaultFailure` when its exit code is not among `accepting`.
  @discardableResult
  func command(_ arguments: [String], accepting: Set<Int32> = [0]) throws -> (status: Int32, output: String) {
    let output = "\(path)/command.out"
    try? FileManager.default.removeItem(atPath: output)
    let child = try start(arguments, output: output)
    guard let status = child.waitForExit(timeoutMilliseconds: 180_000) else {
      child.kill(SIGKILL)
      throw FaultFailure("handbill \(arguments.joined(separator: " ")) took longer than 180 s")
    }
    let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
    guard case .exited(let code) = status, accepting.contains(code) else {
      throw FaultFailure("handbill \(arguments.joined(separator: " ")) \(status): \(text.suffix(2_000))")
    }
    return (code, text)
  }

  /// Starts the command `handbill` in this network, with what it says in a file.
  func start(_ arguments: [String], output: String) throws -> ChildProcess {
    var environment: [String: String?] = self.environment
    environment["SWIFT_BACKTRACE"] = "enable=no"
    return try ChildProcess(
      ChildProcess.Command(
        Programs.own.path("handbill"), arguments, environment: environment, output: .file(output),
        errorOutput: .file("\(path)/command.err")))
  }

  // MARK: Time

  /// Waits until `condition` holds, looking again every 50 ms.
  ///
  /// - Throws: `FaultFailure` when it does not in time.
  func wait(_ what: String, milliseconds: Int64, until condition: () throws -> Bool) throws {
    guard try Waiting.until(seconds: Int(milliseconds) / 1_000, condition) else {
      throw FaultFailure("waited \(milliseconds) ms for \(what)")
    }
  }

  /// Lets devices and services go on for a while.
  func pause(milliseconds: Int) { Waiting.pause(milliseconds: milliseconds) }
}

/// A key ring for the tokens of one network.
enum Base64Key {
  static func new() -> String {
    var random = SystemRandomNumberGenerator()
    return "1:" + Data((0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }).base64EncodedString()
  }
}
