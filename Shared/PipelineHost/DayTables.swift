internal import AdCore
internal import Postgres
internal import Runtime
internal import Threads

/// Maintains the tables of days, from two days back to three ahead; drops sealed ones beyond retention, and what is older of
/// a service's batches and allotments; takes clients out of old rows; and folds its counts. At its start a service makes the
/// tables that are missing; all else is done a minute later, and then hourly, or sooner again where it could not be done.
package struct DayTables: Sendable {
  private static let daysBack: Int32 = 2
  private static let daysAhead: Int32 = 3
  private static let firstMilliseconds = 60_000
  private static let intervalMilliseconds = 3_600_000
  /// Batches of each partition that one transaction removes.
  private static let batchesMaximum: Int32 = 5_000
  /// Allotments that one transaction removes.
  private static let allotmentsMaximum: Int32 = 5_000
  /// Rejected records of which one transaction takes something away.
  private static let rejectedMaximum: Int32 = 5_000
  /// Postings that one transaction removes.
  private static let postingsMaximum: Int32 = 20_000
  /// So long what may be kept of a rejected record stays (A8), as in its topic.
  private static let rejectedDays: Int64 = 30
  /// The rows of so much time, each in so many shares, out of which one transaction takes clients.
  private static let clientPieceSeconds = 900
  private static let clientShares: Int32 = 12
  /// Where our clock and the database's lie further apart, one is wrong, and nothing is given up by it.
  static let clockErrorMilliseconds: Int64 = 3_600_000
  /// How often dropping a day that is in use is tried in one round, and how long each one waits after it.
  private static let dropTries = 20
  private static let dropPauseMilliseconds = 100

  private let tables: [String]
  private let counts: CountTables
  private let retentionDays: Int
  private let clientDays: Int
  private let tableDays: Int
  private let maintenanceURL: String?
  /// Those of `tables` whose rows say of which client they are.
  private let clientTables: [String]

  /// - Parameters:
  ///   - tables: cut by day.
  ///   - clientTables: those of them whose rows say of which client they are: `client_hash`, of packs `client_hashes`.
  ///   - counts: what the service counts into.
  package init(_ tables: [String], clientTables: [String] = [], counts: CountTables, retention: Retention) {
    self.tables = tables
    self.clientTables = clientTables
    self.counts = counts
    retentionDays = retention.eventDays
    clientDays = retention.clientDays
    tableDays = retention.tableDays
    maintenanceURL = retention.maintenanceURL
  }

  /// A connection by the way that tables are made and dropped.
  ///
  /// - Parameter database: the way of a service's rows.
  func connect(_ database: PostgresConfiguration) throws(PostgresError) -> PostgresConnection {
    guard let maintenanceURL else { return try PostgresConnection(database) }
    return try PostgresConnection(
      PostgresConfiguration(maintenanceURL, applicationName: "\(database.applicationName)-maintenance"))
  }

  /// Makes the tables that are missing before anybody writes into them.
  ///
  /// - Parameter connection: to `database`: who starts does not wait for another one that leads to the same.
  func makeMissing(
    _ database: PostgresConfiguration, connected connection: PostgresConnection, now: Timestamp
  ) throws(PostgresError) {
    if maintenanceURL == nil { return try maintain(connection, now: now) }
    let maintenance = try connect(database)
    defer { maintenance.close() }
    try maintain(maintenance, now: now)
  }

  /// Goes on maintaining them, and rolling up counts, each on a thread of its own.
  func start(database: PostgresConfiguration, context: ServiceContext) {
    Rollups(counts).start(database: database, context: context)
    note(context)
    let stop = StopRequest()
    let logger = context.logger.named("day-tables")
    let clock = context.clock
    let thread = OwnerThread("day-tables") {
      var pause = Self.firstMilliseconds
      var pauseAfterFailure = pause
      while !stop.wait(milliseconds: pause) {
        do throws(PostgresError) {
          let connection = try connect(database)
          defer { connection.close() }
          do throws(PostgresError) { try checkClock(connection, now: clock.now) } catch {
            // To make tables takes nothing away.
            try makeDays(connection, now: clock.now)
            note(context)
            throw error
          }
          try work(connection, now: clock.now) {
            _ = stop.wait(milliseconds: Self.dropPauseMilliseconds)
          } made: {
            note(context)
          } tell: {
            tell($0, context)
          }
          pause = Self.intervalMilliseconds
          pauseAfterFailure = Self.firstMilliseconds
        } catch {
          pause = pauseAfterFailure
          // What did succeed is not to be done much more often than its time is.
          pauseAfterFailure = min(2 * pause, Self.intervalMilliseconds)
          logger.error("the tables of days could not be maintained", ["error": .init(error.description)])
        }
      }
    }
    context.lifeCycle.onStop("day-tables") {
      stop.make()
      thread.join()
    }
  }

  private func note(_ context: ServiceContext) {
    context.metrics.gauge(HostMetrics.upkeepCompleted).set(Double(context.clock.now.milliseconds) / 1_000)
  }

  /// Days are dropped, and clients taken out, by what time it is: a clock that jumped ahead would take what is to stay.
  ///
  /// - Throws: where the database's clock says another time.
  func checkClock(_ connection: PostgresConnection, now: Timestamp) throws(PostgresError) {
    guard let theirs: PostgresTimestamp = try connection.query("SELECT now()").first?.decode(0) else { return }
    let seconds = abs(now.milliseconds - Timestamp(theirs).milliseconds) / 1_000
    guard seconds * 1_000 > Self.clockErrorMilliseconds else { return }
    throw PostgresError(
      .misuse, "the database's clock differs from this machine's by \(seconds) s: nothing is dropped until they agree",
      hint: "Set both by NTP.")
  }

  private var schemas: Set<String> { Set(tables.map { String($0.prefix { $0 != "." }) }) }

  /// All that is to be done at `now`.
  ///
  /// - Parameters:
  ///   - rest: see ``drop(_:now:rest:)``.
  ///   - made: called once there are the tables of the next days.
  ///   - tell: hears by table how many days beyond retention stay because they are not sealed.
  func work(
    _ connection: PostgresConnection, now: Timestamp, rest: () -> Void = {}, made: () -> Void = {},
    tell: ([String: Int]) -> Void
  ) throws(PostgresError) {
    var failures: [PostgresError] = []
    // Where one thing cannot be done, all else is.
    func attempt(_ step: () throws(PostgresError) -> Void) {
      do throws(PostgresError) { try step() } catch { failures.append(error) }
    }
    attempt { () throws(PostgresError) in
      try makeDays(connection, now: now)
      made()
    }
    attempt { () throws(PostgresError) in try counts.maintain(connection, now: now) }
    attempt { () throws(PostgresError) in tell(try drop(connection, now: now, rest: rest)) }
    // What is not rolled up is not folded.
    attempt { () throws(PostgresError) in try counts.rollUp(connection, fewest: 1) }
    attempt { () throws(PostgresError) in try counts.foldRollups(connection, now: now) }
    attempt { () throws(PostgresError) in try counts.fold(connection, now: now) }
    // A day later than their rows, so that every row has its batch.
    let oldest = now.advanced(byMilliseconds: -(Int64(retentionDays) + 1) * 86_400_000)
    for schema in schemas {
      attempt { () throws(PostgresError) in _ = try connection.query("SELECT public.forget_terms($1)", [schema]) }
      attempt { () throws(PostgresError) in
        try removeAll("SELECT public.forget_batches($1, $2, $3)", [schema, oldest, Self.batchesMaximum], connection)
      }
      if schema == "billing" {
        attempt { () throws(PostgresError) in
          try removeAll("SELECT billing.forget_journals($1)", [Self.postingsMaximum], connection)
        }
      }
      attempt { () throws(PostgresError) in
        try removeAll("SELECT public.forget_allotments($1, $2)", [schema, Self.allotmentsMaximum], connection)
      }
    }
    attempt { () throws(PostgresError) in try forgetClients(connection, now: now) }
    if let first = failures.first { throw first }
  }

  /// Makes the tables that are missing.
  func maintain(_ connection: PostgresConnection, now: Timestamp) throws(PostgresError) {
    try makeDays(connection, now: now)
    try counts.maintain(connection, now: now)
  }

  private func makeDays(_ connection: PostgresConnection, now: Timestamp) throws(PostgresError) {
    let today = PostgresDate(days: Int32(now.milliseconds / 86_400_000))
    for table in tables {
      _ = try connection.query(
        "SELECT public.keep_days($1::text::regclass, $2, $3, $4, $5, $6)",
        [table, today, Self.daysBack, Self.daysAhead, Int32(retentionDays), Int32(tableDays)])
    }
  }

  /// Drops the days beyond retention that are sealed.
  ///
  /// - Parameter rest: called before a day that somebody held is tried again: no batch waits for it in the meantime.
  /// - Returns: by table, how many days beyond retention stay because they are not sealed.
  func drop(
    _ connection: PostgresConnection, now: Timestamp, rest: () -> Void = {}
  ) throws(PostgresError) -> [String: Int] {
    let kept = max(Int32(retentionDays), Self.daysBack)
    let oldest = PostgresDate(days: Int32(now.milliseconds / 86_400_000) - kept)
    var unsealed: [String: Int] = [:]
    for table in tables {
      var tries = 0
      var isDone = false
      while !isDone {
        do throws(PostgresError) {
          let row = try connection.query(
            "SELECT dropped, unsealed FROM public.drop_day($1::text::regclass, $2)", [table, oldest]
          ).first
          let dropped: PostgresDate? = try row?.decode(0)
          unsealed[table] = Int(try row?.decode(1, Int32.self) ?? 0)
          isDone = dropped == nil
          tries = 0
        } catch {
          tries += 1
          guard error.sqlState == Self.lockNotAvailable, tries < Self.dropTries else { throw error }
          rest()
        }
      }
    }
    return unsealed
  }

  private static let lockNotAvailable = "55P03"

  private func tell(_ unsealed: [String: Int], _ context: ServiceContext) {
    for (table, days) in unsealed {
      context.metrics.gauge(HostMetrics.retentionBacklog, ["table": table]).set(Double(days))
      guard days > 0 else { continue }
      context.logger.named("day-tables").error(
        "days beyond retention are not sealed, and stay: see why in the console's log, logger sealing, and start a console "
          + "where none runs",
        ["table": .text(table), "days": .init(days)])
    }
  }

  /// Takes out of rows of which client they are, where they are old enough and sealed: of what has waited for long a part in
  /// each round. Takes keys off rejected records, which can be sent again for a day (A8), and of older ones what was kept.
  func forgetClients(_ connection: PostgresConnection, now: Timestamp) throws(PostgresError) {
    let oldestKey = now.advanced(byMilliseconds: -Int64(Self.daysBack) * 86_400_000)
    let oldestValue = now.advanced(byMilliseconds: -Self.rejectedDays * 86_400_000)
    for schema in schemas {
      try removeAll(
        "SELECT public.forget_rejected($1, $2, $3, $4)", [schema, oldestKey, oldestValue, Self.rejectedMaximum],
        connection)
    }
    let before = now.advanced(byMilliseconds: -Int64(clientDays) * 86_400_000)
    for table in clientTables {
      for piece in try connection.query(Self.clientPieces, [table, before]) {
        let part: String = try piece.decode(0)
        let (begins, ends): (PostgresTimestamp, PostgresTimestamp) = (try piece.decode(1), try piece.decode(2))
        let share: Int32 = try piece.decode(3)
        let sql = "SELECT public.forget_clients($1::text::regclass, $2, $3, $4, $5)"
        // Another instance does what is left.
        guard
          try connection.query(sql, [part, begins, ends, share, Self.clientShares]).first?.decode(0) == true
        else { break }
      }
    }
  }

  /// What one round takes clients out of: of each table that has some in old rows a part, piece by piece.
  private static let clientPieces = """
    SELECT part::text, begins, least(begins + interval '\(clientPieceSeconds) s', until), share
    FROM public.client_spans($1::text::regclass, $2),
      generate_series(since, until - interval '1 s', interval '\(clientPieceSeconds) s') AS begins,
      generate_series(1, \(clientShares)) AS share
    ORDER BY begins, share
    """

  /// Removes by `sql`, which says how much went, until nothing is left: each time in a transaction of its own.
  private func removeAll(
    _ sql: String, _ parameters: [any PostgresValue], _ connection: PostgresConnection
  ) throws(PostgresError) {
    var removed: Int64 = 1
    while removed > 0 { removed = try connection.query(sql, parameters).first?.decode(0) ?? 0 }
  }
}
