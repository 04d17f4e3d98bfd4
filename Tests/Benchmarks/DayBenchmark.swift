import AdCore
import LocalProcesses
import Operations
import Postgres
import Runtime

/// What a day costs when it is over: to be sealed and dropped, and to compare all accounts before and after.
struct DayBenchmark {
  let partitions: Int32
  /// Ads served on the day, all seen and charged, a few of them tapped.
  let serves: Int64
  private static let dayMilliseconds: Int64 = 86_400_000
  /// How long storing the day, or comparing it, may take.
  private static let patienceMilliseconds = 3_600_000

  func run(_ databaseURL: String) throws -> [BenchmarkResult] {
    var database = try PostgresConfiguration(databaseURL)
    database.statementTimeoutMilliseconds = Self.patienceMilliseconds
    let pool = PostgresPool(database)
    defer { pool.close() }
    progress("storing a day of \(serves) serves")
    try pool.withConnection { connection throws(PostgresError) in
      try connection.executeScript(
        DayOfServes.rows(serves, partitions: partitions),
        silenceLimitMilliseconds: Self.patienceMilliseconds)
    }
    progress("comparing all accounts")
    let before = try compare(pool)
    progress("sealing the day")
    let sealing = try seconds { try seal(pool) }
    progress("dropping the day")
    let dropping = try seconds { try drop(pool) }
    progress("comparing all accounts")
    let after = try compare(pool)
    return [
      BenchmarkResult("a day of serves", Double(serves), "rows"),
      BenchmarkResult("comparing all accounts, the day open", before, "s"),
      BenchmarkResult("sealing the day", sealing, "s", limit: ("comparing it", before)),
      BenchmarkResult("dropping the day", dropping * 1_000, "ms"),
      BenchmarkResult("comparing all accounts, the day dropped", after, "s", limit: ("the day open", before)),
    ]
  }

  /// The seconds that it takes.
  private func compare(_ pool: PostgresPool) throws -> Double {
    try seconds {
      let comparison = try Reconciler(pool).reconcile()
      guard comparison.differences == 0 else { throw Unexpected(what: comparison.text) }
    }
  }

  private func seal(_ pool: PostgresPool) throws {
    // The day before yesterday can be sealed tomorrow at the latest.
    let tomorrow = SystemClock().now.advanced(byMilliseconds: Self.dayMilliseconds)
    let result = try DaySealer(pool).sealNext(now: tomorrow)
    guard case .sealed = result else { throw Unexpected(what: "\(result)") }
  }

  private func drop(_ pool: PostgresPool) throws {
    try pool.withConnection { connection throws(PostgresError) in
      for table in DayOfServes.tables {
        _ = try connection.query("SELECT dropped FROM public.drop_day($1::text::regclass, current_date - 1)", [table])
      }
    }
    let left: Int64 = try pool.withConnection { connection throws(PostgresError) in
      try connection.query("SELECT count(*) FROM billing.charge")[0].decode(0)
    }
    guard left == 0 else { throw Unexpected(what: "\(left) charges are left of a day that was dropped") }
  }

  private struct Unexpected: Error, CustomStringConvertible {
    let what: String
    var description: String { what }
  }
}
