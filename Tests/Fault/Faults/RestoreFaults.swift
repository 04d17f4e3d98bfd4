import AdCore
import Postgres
import TestValues

/// PostgreSQL is restored from a backup that lacks the last seconds: edits of the catalogue, decisions, charges.
struct RestoredBackup: Fault {
  let name = "restored-backup"
  let summary = "PostgreSQL is restored from a backup that lacks seconds of everything; restore accept"
  let invariants = ["I3", "I5", "I6", "I7"]
  let needs = NetworkNeeds(hasStandby: true, isStandbySynchronous: false, isUsedUp: true)
  private static let lostMilliseconds = 8_000...12_000

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    try network.takeBackup()
    let connection = try network.connection()
    let rows = try connection.query("SELECT key FROM catalog.record WHERE kind = 'developer' ORDER BY key LIMIT 1")
    connection.close()
    guard let developer: String = try rows.first?.decode(0) else { throw FaultFailure("there is no developer") }
    try network.command(["catalog", "set", developer, "name=Renamed"])
    network.pause(milliseconds: chance.number(Self.lostMilliseconds))
    try network.restoreBackup()
    try LostCommits(network).accept()
    let restored = try network.connection()
    defer { restored.close() }
    let named = try restored.query("SELECT body->>'name' FROM catalog.record WHERE key = $1", [developer]).first
    let name: String? = try named?.decode(0)
    guard name == "Renamed" else { throw FaultFailure("the catalogue's edit was not taken back: \(name ?? "nothing")") }
  }
}

/// PostgreSQL's machine is lost under load, and its standby takes its place without the last commits.
struct AsynchronousFailover: Fault {
  let name = "asynchronous-failover"
  let summary = "PostgreSQL is lost, and a standby that lacks the last commits is promoted; restore accept"
  let invariants = ["I3", "I5", "I6", "I7"]
  let needs = NetworkNeeds(hasStandby: true, isStandbySynchronous: false, isUsedUp: true)

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    try network.cutReplication()
    network.pause(milliseconds: chance.number(200...2_000))
    try network.failOver()
    try LostCommits(network).accept()
  }
}

/// What people do when the database lacks commits.
private struct LostCommits {
  private static let noticeMilliseconds: Int64 = 60_000
  private static let heldMilliseconds = 5_000

  let network: FaultNetwork

  init(_ network: FaultNetwork) { self.network = network }

  /// Waits until services have stopped, accepts, and releases what is held then.
  func accept() throws {
    try network.wait("a service to find that commits are lost", milliseconds: Self.noticeMilliseconds) {
      try count("SELECT count(*) FROM timeline.finding") > 0
    }
    // The others look as well; and nothing goes on by itself.
    network.pause(milliseconds: Self.heldMilliseconds)
    network.note("\(try count("SELECT count(*) FROM timeline.finding")) partitions have stopped")
    let said = try network.command(["restore", "accept", "--reason", "a fault"])
    network.note(said.output.split(separator: "\n").last.map(String.init) ?? "")
    try network.awaitReadiness()
    network.pause(milliseconds: Self.heldMilliseconds)
    let held = try count("SELECT count(*) FROM billing.held_row")
    for app in network.apps {
      try network.command(["traffic", "release", "--app", app, "--reason", "served by decisions that were lost"])
    }
    network.note("\(held) events were held, \(try count("SELECT count(*) FROM billing.held_row")) are left")
    // Ads of which nothing told before, as of the last moment before a failover.
    try network.command(["restore", "accept"])
  }

  private func count(_ sql: String) throws -> Int64 {
    let connection = try network.connection()
    defer { connection.close() }
    return try connection.query(sql).first?.decode(0) ?? 0
  }
}
