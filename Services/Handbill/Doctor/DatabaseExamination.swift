internal import AdCore
internal import Migrations
internal import Postgres
internal import Runtime

/// What `handbill doctor` looks at in PostgreSQL, and between its clock, the brokers' and this machine's. Blocks.
struct DatabaseExamination: Sendable {
  /// Far below what stops paid ads (`HANDBILL_BREAKER_CLOCK_ERROR`).
  private static let clockErrorMillisecondsMaximum: Int64 = 1_000

  /// A statement over all decisions of 400 days takes 3,300.
  private static let locksMinimum: Int64 = 25_600

  let databaseURL: String
  let clock: any TimeSource

  func findings() -> [Finding] {
    do {
      let connection = try DatabaseAddress.connect(databaseURL)
      defer { connection.close() }
      return try [release(connection)] + durability(connection) + [locks(connection)] + login(connection)
        + clocks(connection)
    } catch {
      return [.wrong("postgres", "PostgreSQL", "\(error)", "bring it back, or say where it is")]
    }
  }

  private func release(_ connection: PostgresConnection) throws -> Finding {
    do throws(MigrationError) {
      try MigrationRunner().check(connection)
      return .good("postgres", "schema", "of this release")
    } catch {
      let advice =
        switch error {
        case .tooOld: "handbill migrate up"
        case .otherLogic: "handbill migrate up, of the release that is to run"
        case .tooNew: "run the newer release, or look with its handbill"
        case .editedHistory: "handbill migrate up, with the migration as it was when it was applied"
        case .failed: "mend what it names, then handbill migrate up"
        case .malformed: "install this release anew"
        case .database: "bring it back, or give this login the right to read its schema"
        }
      return .wrong("postgres", "schema", "\(error)", advice)
    }
  }

  /// Whether what is committed outlasts a power cut, and the loss of the server.
  private func durability(_ connection: PostgresConnection) throws(PostgresError) -> [Finding] {
    let settings = ["fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names"]
    var values: [String: String] = [:]
    for name in settings {
      values[name] = try connection.query("SELECT current_setting($1)", [name]).first?.decode(0) ?? ""
    }
    var findings = settings.dropLast().map { name in
      let value = values[name] ?? ""
      return Finding.judged(
        "postgres", name, value, isGood: ["on", "remote_apply"].contains(value),
        "set on: what is said to be committed would be lost with the server")
    }
    let standbys: Int64 =
      try connection.query("SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')").first?
      .decode(0)
      ?? 0
    let named = values["synchronous_standby_names"] ?? ""
    findings.append(
      .judged(
        "postgres", "synchronous_standby_names", "\"\(named)\", \(standbys) synchronous standbys",
        isGood: !named.isEmpty && standbys > 0,
        "name a standby: without one the loss of the server's disk, or a failover, loses commits (docs/runbooks.md)"))
    return findings
  }

  /// Whether the server has room for the locks of those who read all days that are kept: each locks every table of them.
  private func locks(_ connection: PostgresConnection) throws(PostgresError) -> Finding {
    let sql = """
      SELECT current_setting('max_locks_per_transaction')::bigint
        * (current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint)
      """
    let locks: Int64 = try connection.query(sql).first?.decode(0) ?? 0
    return .judged(
      "postgres", "locks", "\(locks)", isGood: locks >= Self.locksMinimum,
      "set max_locks_per_transaction so that there are \(Self.locksMinimum) with all connections, and restart it: "
        + "who reads all days that are kept locks each of their tables")
  }

  private func login(_ connection: PostgresConnection) throws(PostgresError) -> [Finding] {
    let sql = """
      SELECT r.rolsuper, current_user::text, coalesce(s.ssl, false), inet_server_addr() IS NULL
        OR inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1'
      FROM pg_roles r LEFT JOIN pg_stat_ssl s ON s.pid = pg_backend_pid() WHERE r.rolname = current_user
      """
    guard let row = try connection.query(sql).first else { return [] }
    let (isSuper, name, isEncrypted, isLocal): (Bool, String, Bool, Bool) = (
      try row.decode(0), try row.decode(1), try row.decode(2), try row.decode(3)
    )
    var findings = [
      Finding.judged(
        "postgres", "login \(name)", isSuper ? "a superuser" : "no superuser", isGood: !isSuper,
        "give programs logins of their own, with no more rights than they need"),
      Finding.judged(
        "postgres", "connection", isEncrypted ? "TLS" : isLocal ? "of this machine" : "in plain text",
        isGood: isEncrypted || isLocal, "sslmode=verify-full in HANDBILL_DATABASE_URL"),
    ]
    for role in DatabaseUser.allCases.map(\.role) {
      let isThere: Bool = try connection.query("SELECT to_regrole($1) IS NOT NULL", [role]).first?.decode(0) ?? false
      findings.append(
        .judged("postgres", "role \(role)", isThere ? "there" : "missing", isGood: isThere, "handbill migrate up"))
    }
    return findings
  }

  private func clocks(_ connection: PostgresConnection) throws(PostgresError) -> [Finding] {
    let begin = clock.monotonicMilliseconds
    let sql = """
      SELECT clock_timestamp(), (SELECT max(watermark) FROM (
        SELECT watermark FROM impression_tracking.partition UNION ALL SELECT watermark FROM click_tracking.partition
      ) AS arrivals)
      """
    guard let row = try connection.query(sql).first else { return [] }
    let own = clock.now
    let roundTrip = clock.monotonicMilliseconds - begin
    let database: Timestamp = try row.decode(0)
    let error = max(0, abs(database.milliseconds(since: own)) - roundTrip)
    var findings = [
      Finding.judged(
        "clocks", "PostgreSQL", "\(error) ms from this machine's", isGood: error <= Self.clockErrorMillisecondsMaximum,
        "chronyc tracking on both machines")
    ]
    // Arrivals are by the brokers' clocks: none lies in the future.
    guard let arrival: Timestamp = try row.decode(1), arrival.milliseconds > 0 else {
      return findings + [.unknown("clocks", "brokers", "nothing has arrived yet")]
    }
    let ahead = max(0, arrival.milliseconds(since: database))
    findings.append(
      .judged(
        "clocks", "brokers", "\(ahead) ms ahead of PostgreSQL's", isGood: ahead <= Self.clockErrorMillisecondsMaximum,
        "chronyc tracking on the brokers' machines"))
    return findings
  }
}
