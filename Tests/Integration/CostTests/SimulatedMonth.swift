import AdCore
import Foundation
import Operations
import Postgres
import Runtime
import TestServices
import TestValues

@testable import AdSelection
@testable import Billing
@testable import ClickTracking
@testable import ImpressionTracking
@testable import PipelineHost

/// Days of a whole network on a real database, one after the other as fast as they go: every service's own code and
/// tables, time moved by the clock. Each day the processes are restarted, what is beyond retention is dropped, and a day is
/// sealed; every other day the keys rotate; after a third of the time the network gets twice as many partitions.
final class SimulatedMonth {
  struct Plan {
    var days: Int
    /// Batches of ads in a day and a partition, and the ads of each.
    var batchesPerDay: Int
    var batchAds: Int
    var retention: Retention
  }

  /// What stood at the end of a day.
  struct Day {
    var shown: Int
    /// Rows that whoever takes all partitions over reads.
    var takeoverRows: Int64
    /// Bytes by table and index, those of all days together.
    var relations: [String: Int64]
    var databaseBytes: Int64 { relations.values.reduce(0, +) }
    var residentBytes: Int64
    /// Allotments that no serve could be of which is still kept.
    var forgottenAllotments: Int64
    /// Tables of one day each that there are.
    var dayTables: Int64
    var differences: Int64
    var compared: Int64
    /// What differed, or kept a day from being sealed; empty for nothing.
    var complaint: String
  }

  private static let dayMilliseconds: Int64 = 86_400_000
  private static let firstPartitions: Int32 = 2
  private static let keyDays: Int64 = 2

  private let plan: Plan
  private let database: PostgresConfiguration
  private let connection: PostgresConnection
  private let pool: PostgresPool
  private let clock: MovingClock
  private let ring: KeyRing
  private var chains: [ChainOfPartitions] = []

  /// - Parameter database: migrated, with a login for each program; the days begin with today.
  init(_ database: PostgresConfiguration, _ plan: Plan) throws {
    self.plan = plan
    self.database = database
    connection = try PostgresConnection(database)
    pool = PostgresPool(database.login("handbill-console"), size: 2)
    let today = SystemClock().now.milliseconds / Self.dayMilliseconds * Self.dayMilliseconds
    clock = MovingClock(Timestamp(milliseconds: today))
    ring = try KeyRing(
      keys: (0..<KeyRing.keysMaximum).map { number in
        let from = today + Int64(number) * Self.keyDays * Self.dayMilliseconds
        return try KeyRing.Key(
          id: UInt16(number + 1), secret: [UInt8](repeating: UInt8(number), count: 32),
          signsFrom: number == 0 ? nil : Timestamp(milliseconds: from))
      })
    try keepTables()
    try grow(to: Self.firstPartitions)
  }

  func run(_ note: (Int, Day) -> Void) throws -> [Day] {
    try (0..<plan.days).map { number in
      if number == plan.days / 3 { try grow(to: Self.firstPartitions * 2) }
      let day = try run()
      note(number, day)
      return day
    }
  }

  private func run() throws -> Day {
    var shown = 0
    for _ in 0..<plan.batchesPerDay {
      clock.advance(byMilliseconds: Self.dayMilliseconds / Int64(plan.batchesPerDay))
      for chain in chains {
        shown += try chain.showBatch()
        // The next batch stores it: what the last ones published is published again by whoever takes over.
        chain.confirm()
      }
    }
    let takeoverRows = try takeOver()
    for chain in chains { try chain.writeAllCounts() }
    try keepTables()
    let sealing = try seal()
    let result = try Reconciler(pool).reconcile()
    try connection.executeScript("VACUUM")
    let row = try connection.query(
      """
      SELECT (SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relname ~ '_[0-9]{8}$'
          AND c.relname !~ '^(hour|day)_(count|revenue)_'),
        (SELECT count(*) FROM (
          SELECT serve_until FROM billing.allotment UNION ALL SELECT serve_until FROM ad_selection.allotment
        ) AS allotments WHERE serve_until < $1)
      """, [clock.now.advanced(byMilliseconds: -Int64(plan.retention.eventDays + 3) * Self.dayMilliseconds)])[0]
    return Day(
      shown: shown, takeoverRows: takeoverRows, relations: try relations(),
      residentBytes: try Self.residentBytes(), forgottenAllotments: try row.decode(1), dayTables: try row.decode(0),
      differences: result.differences, compared: result.checks.reduce(0) { $0 + $1.compared },
      complaint: sealing + (result.differences == 0 ? "" : result.text))
  }

  /// Other processes take everything over.
  ///
  /// - Returns: how many rows they read.
  private func takeOver() throws -> Int64 {
    let before = try rowsRead()
    for chain in chains { try chain.takeOver(partitionCount: Int32(chains.count)) }
    return try rowsRead() - before
  }

  /// Rows that were read by now, as the server counts them.
  private func rowsRead() throws -> Int64 {
    for chain in chains { try chain.reportReads() }
    let read = "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables"
    return try connection.query(read)[0].decode(0)
  }

  /// Seals what can be.
  ///
  /// - Returns: what keeps the next day from it; empty where it is not over for long enough.
  private func seal() throws -> String {
    while true {
      let result = try DaySealer(pool).sealNext(now: clock.now)
      switch result {
      case .sealed: continue
      case .nothingDue: return ""
      case .notYet, .differs, .busy: return "\(result)"
      }
    }
  }

  private static func residentBytes() throws -> Int64 {
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")[1]
    return (Int64(pages) ?? 0) * Int64(sysconf(Int32(_SC_PAGESIZE)))
  }

  private func relations() throws -> [String: Int64] {
    let rows = try connection.query(
      """
      SELECT regexp_replace(oid::regclass::text, '_[0-9]{8}', ''), sum(pg_relation_size(oid))::bigint
      FROM pg_class WHERE relkind IN ('r', 'i', 't', 'm') GROUP BY 1
      """)
    return Dictionary(uniqueKeysWithValues: try rows.map { (try $0.decode(0), try $0.decode(1)) })
  }

  private func grow(to count: Int32) throws {
    for chain in chains { try chain.takeOver(partitionCount: count) }
    for partition in Int32(chains.count)..<count {
      let plan = ChainOfPartitions.Plan(
        partition: partition, partitionCount: count, ring: ring, batchAds: plan.batchAds)
      chains.append(try ChainOfPartitions(database, plan, clock: clock))
    }
  }

  /// What each service does hourly, under its own login.
  private func keepTables() throws {
    for (service, tables) in [
      ("ad-selection", SelectionTables.days(plan.retention)),
      ("impression-tracking", ImpressionTables.days(plan.retention)),
      ("click-tracking", ClickTables.days(plan.retention)), ("billing", BillingTables.days(plan.retention)),
    ] {
      let connection = try PostgresConnection(database.login("handbill-\(service)"))
      defer { connection.close() }
      try tables.work(connection, now: clock.now) { _ in }
    }
  }
}
