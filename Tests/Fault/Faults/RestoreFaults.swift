import AdCore
import Foundation
import Postgres
import TestValues

/// PostgreSQL is restored from a backup that lacks the last seconds, or hours: edits of the catalogue, decisions, charges.
struct RestoredBackup: Fault {
  let name = "restored-backup"
  let summary = "PostgreSQL is restored from a backup that lacks BACKUP_SECONDS (10) of everything; restore accept"
  let invariants = ["I3", "I5", "I6", "I7"]
  let needs = NetworkNeeds(hasStandby: true, isStandbySynchronous: false, isUsedUp: true)
  private static let soldMilliseconds: Int64 = 30_000
  private static let lostMilliseconds = 8_000...12_000
  /// How old the backup is; nil for about ten seconds.
  let ageSeconds: Int?

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let lost = LostCommits(network)
    // What is lost is to have allotments, views and taps before it.
    try network.wait("ads to be charged", milliseconds: Self.soldMilliseconds) {
      try lost.count("SELECT count(*) FROM billing.charge_row") > 0
    }
    try network.takeBackup()
    let connection = try network.connection()
    let rows = try connection.query("SELECT key FROM catalog.record WHERE kind = 'developer' ORDER BY key LIMIT 1")
    connection.close()
    guard let developer: String = try rows.first?.decode(0) else { throw FaultFailure("there is no developer") }
    try network.command(["catalog", "set", developer, "name=Renamed"])
    network.pause(milliseconds: ageSeconds.map { $0 * 1_000 } ?? chance.number(Self.lostMilliseconds))
    try network.restoreBackup()
    try lost.accept()
    let restored = try network.connection()
    defer { restored.close() }
    let named = try restored.query("SELECT body->>'name' FROM catalog.record WHERE key = $1", [developer]).first
    let name: String? = try named?.decode(0)
    guard name == "Renamed" else { throw FaultFailure("the catalogue's edit was not taken back: \(name ?? "nothing")") }
  }

  func conclude(in network: FaultNetwork) throws {
    guard try LostCommits(network).settle() > 0 else { throw FaultFailure("no decision was lost") }
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

  func conclude(in network: FaultNetwork) throws { try LostCommits(network).settle() }
}

/// What people do when the database lacks commits.
struct LostCommits {
  private static let noticeMilliseconds: Int64 = 60_000
  private static let othersMilliseconds = 2_000
  private static let recoveryMilliseconds: Int64 = 90_000
  private static let reason = "served by decisions that were lost"

  private let network: FaultNetwork

  init(_ network: FaultNetwork) { self.network = network }

  /// Waits until services have stopped, and accepts; returns when what was written until then is decided again.
  func accept() throws {
    try network.wait("a service to find that commits are lost", milliseconds: Self.noticeMilliseconds) {
      try count("SELECT count(*) FROM timeline.finding") > 0
    }
    // The others look as well; and nothing goes on by itself.
    network.pause(milliseconds: Self.othersMilliseconds)
    network.note("\(try count("SELECT count(*) FROM timeline.finding")) partitions have stopped")
    try network.command(["restore", "accept", "--reason", "a fault"])
    try network.awaitReadiness()
    _ = try RecoveryWatch(network: network).measure(timeoutMilliseconds: Self.recoveryMilliseconds)
    try release()
  }

  /// When devices have stopped: names ads of which nothing told before, as of the last moment before a failover, and
  /// releases what is held.
  ///
  /// - Returns: how many events of ads whose decision is lost were accepted.
  @discardableResult
  func settle() throws -> Int64 {
    try network.command(["drain", "--timeout", "60s"])
    try network.command(["restore", "accept"])
    try release()
    let held = try count("SELECT count(*) FROM billing.held_row")
    guard held == 0 else { throw FaultFailure("\(held) events are still held") }
    let lost = try LostServes.read(network)
    network.note("of ads whose decision is lost \(lost.accepted) events were accepted")
    let undecided = try count(
      """
      SELECT count(*) FROM (
        SELECT serve_id FROM impression_tracking.impression_row UNION ALL SELECT serve_id FROM click_tracking.click_row
      ) AS event WHERE NOT EXISTS (SELECT FROM ad_selection.decision d WHERE d.serve_id = event.serve_id)
      """)
    guard lost.accepted == undecided, lost.held == 0 else {
      throw FaultFailure("\(undecided) events have no decision, \(lost) are accepted as lost")
    }
    return lost.accepted
  }

  private func release() throws {
    let held = try count("SELECT count(*) FROM billing.held_row")
    for app in network.apps { try network.command(["traffic", "release", "--app", app, "--reason", Self.reason]) }
    network.note("\(held) events were held and are released")
  }

  func count(_ sql: String) throws -> Int64 {
    let connection = try network.connection()
    defer { connection.close() }
    return try connection.query(sql).first?.decode(0) ?? 0
  }
}

/// What the comparison of all accounts says of ads whose decision is lost.
private struct LostServes {
  var accepted: Int64 = 0
  var held: Int64 = 0

  private struct Report: Decodable {
    struct Lost: Decodable {
      let impressions: Int64
      let clicks: Int64
      let held: Int64
    }
    let decisionsLost: [Lost]
  }

  static func read(_ network: FaultNetwork) throws -> LostServes {
    let said = try network.command(["reconcile", "--json"], accepting: [0, 1])
    let report = try JSONDecoder().decode(Report.self, from: Data(said.output.utf8))
    return report.decisionsLost.reduce(into: LostServes()) {
      $0.accepted += $1.impressions + $1.clicks
      $0.held += $1.held
    }
  }
}
