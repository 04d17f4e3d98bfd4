import Migrations
import TestServers
import TestServices
import Testing

@testable import Postgres

/// Every user of the database tries everything, under its own login.
@Suite("Rights in the database")
struct RightsTests {
  private typealias Rights = DeclaredRights.Rights

  private static let withLogins = DatabaseTemplate("with logins", copyOf: TestDatabase.bare) { url in
    let connection = try PostgresConnection(PostgresConfiguration(url))
    defer { connection.close() }
    try DatabaseUser.makeLogins(connection)
  }

  private let url: String
  private let owner: PostgresConnection

  init() async throws {
    url = try await SharedPostgres.database(copyOf: Self.withLogins)
    owner = try PostgresConnection(PostgresConfiguration(url))
  }

  private func connection(of user: DatabaseUser) throws -> PostgresConnection {
    try PostgresConnection(PostgresConfiguration(url).login(user.login))
  }

  private struct Relation {
    let schema: String
    let name: String
    let isView: Bool
    let isDay: Bool
    /// Those that can be changed by anybody at all.
    let columns: [String]

    var path: String { "\(schema).\(name)" }
  }

  /// Everything that holds rows, or shows some, but for PostgreSQL's own.
  private func relations() throws -> [Relation] {
    try owner.query(
      """
      SELECT c.relnamespace::regnamespace::text, c.relname::text, c.relkind = 'v', c.relispartition,
        ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
          AND a.attidentity = '')
      FROM pg_class c WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
        AND c.relnamespace::regnamespace::text !~ '^(pg_|information_schema)' ORDER BY 1, 2
      """
    ).map { row in
      Relation(
        schema: try row.decode(0), name: try row.decode(1), isView: try row.decode(2), isDay: try row.decode(3),
        columns: try row.decode(4))
    }
  }

  /// Whether the server lets somebody do it; nothing of it stays.
  private func may(_ sql: String, _ connection: PostgresConnection) throws(PostgresError) -> Bool {
    try connection.begin()
    var failure: PostgresError?
    do throws(PostgresError) { try connection.execute(sql: sql) } catch { failure = error }
    try connection.rollback()
    guard let failure else { return true }
    switch failure.sqlState {
    case "42501": return false
    // What nobody can do with a view.
    case "55000", "42809", "0A000": return false
    // It was let in, and had no content that could be.
    case .some(let state) where state.hasPrefix("23") || state.hasPrefix("HB"): return true
    default: throw failure
    }
  }

  private func rights(_ relation: Relation, _ connection: PostgresConnection) throws -> Rights {
    var rights = Rights()
    rights.select = try may("SELECT FROM \(relation.path) LIMIT 0", connection)
    rights.insert = try may("INSERT INTO \(relation.path) DEFAULT VALUES", connection)
    rights.delete = try may("DELETE FROM \(relation.path) WHERE false", connection)
    for column in relation.columns
    where try may("UPDATE \(relation.path) SET \"\(column)\" = NULL WHERE false", connection) {
      rights.update.insert(column)
    }
    #expect(try !may("TRUNCATE \(relation.path)", connection), "\(relation.path) is emptied")
    return rights
  }

  @Test("every user may do with every table, view and column what is declared, and nothing else")
  func matrix() throws {
    let relations = try relations()
    let tables = relations.filter { !$0.isView && !$0.isDay }
    #expect(Set(tables.map(\.path)) == Set(DeclaredRights.tables.keys), "each table has its line in DeclaredRights")
    #expect(relations.contains { $0.isDay } && relations.contains { $0.schema == "reporting" })
    for user in DatabaseUser.allCases {
      let connection = try connection(of: user)
      defer { connection.close() }
      for relation in relations {
        let declared: Rights =
          if relation.isDay {
            // Days are reached by the tables that they are of.
            .none
          } else if relation.isView {
            DeclaredRights.ofView(relation.path, in: relation.schema, user)
          } else {
            DeclaredRights.tables[relation.path]?[user] ?? .none
          }
        #expect(try rights(relation, connection) == declared, "\(user.rawValue): \(relation.path)")
      }
    }
  }

  @Test("nobody makes or changes tables, functions, roles or schemas, or puts off what guards rows")
  func definitions() throws {
    for user in DatabaseUser.allCases {
      let connection = try connection(of: user)
      defer { connection.close() }
      for schema in ["public", "ad_selection", "billing", "treasury", "pipeline", "catalog", "sealed", "reporting"] {
        #expect(try !may("CREATE TABLE \(schema).own (a int)", connection), "\(user.rawValue): \(schema)")
      }
      for sql in [
        "CREATE SCHEMA own", "CREATE ROLE own", "GRANT handbill_billing TO \"\(user.login)\"",
        "ALTER TABLE billing.posting DISABLE TRIGGER posting_is_append_only", "DROP TABLE billing.charge_row",
        "SET LOCAL session_replication_role = replica", "SET LOCAL ROLE handbill",
        "CREATE OR REPLACE FUNCTION billing.refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
      ] {
        #expect(try !may(sql, connection), "\(user.rawValue): \(sql)")
      }
    }
  }

  @Test(
    "what works in the owner's name is called by those alone for whom it is, looks nowhere else, and knows its caller")
  func functions() throws {
    let rows = try owner.query(
      """
      SELECT pronamespace::regnamespace || '.' || proname, p.oid::regprocedure::text,
        coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false)
      FROM pg_proc p WHERE prosecdef
      """)
    var found: Set<String> = []
    for row in rows {
      let name: String = try row.decode(0)
      found.insert(name)
      #expect(try row.decode(2, Bool.self), "\(name) has no fixed search_path")
      for user in DatabaseUser.allCases {
        let may: Bool? = try owner.query(
          "SELECT has_function_privilege($1, $2, 'EXECUTE')", [user.login, try row.decode(1, String.self)]
        ).first?.decode(0)
        #expect(may == DeclaredRights.functions[name]?.contains(user), "\(user.rawValue): \(name)")
      }
    }
    #expect(found == Set(DeclaredRights.functions.keys))
  }

  @Test("a service keeps and forgets its own days and batches, and no other's", arguments: DeclaredRights.services)
  func others(user: DatabaseUser) throws {
    let connection = try connection(of: user)
    defer { connection.close() }
    // A temporary table of one's own, with what fires when the owner touches it, is no service's.
    try connection.executeScript(
      """
      CREATE TEMPORARY TABLE batch (partition int, batch_number bigint, committed_at timestamptz);
      CREATE TEMPORARY TABLE minute_count (minute timestamptz, partition int, events bigint);
      """)
    let rows: [DatabaseUser: String] = [
      .adSelection: "decision_row", .impressionTracking: "impression_row", .clickTracking: "click_row",
      .billing: "charge_row",
    ]
    for service in DeclaredRights.services {
      let schema = DeclaredRights.schema(of: service)
      let minutes = service == .billing ? "minute_revenue" : "minute_count"
      let hours = service == .billing ? "hour_revenue" : "hour_count"
      for sql in [
        "SELECT public.keep_days('\(schema).\(rows[service] ?? "")', current_date, 2, 3, 90)",
        "SELECT public.drop_day('\(schema).\(rows[service] ?? "")', current_date + 9)",
        "SELECT public.keep_count_tables('\(schema).\(minutes)', 'day', now(), now())",
        "SELECT public.fold_counts('\(schema).\(minutes)', '\(schema).\(hours)', 'hour', 'epoch', now())",
        "SELECT public.drop_counts('\(schema)', now())",
        "SELECT public.keep_windows('\(schema)', 0, '{HANDBILL_LATE_ARRIVAL}', '{1}')",
        "SELECT public.forget_batches('\(schema)', now(), 10)", "SELECT public.forget_allotments('\(schema)', 10)",
        "SELECT public.forget_terms('\(schema)')",
        "SELECT public.forget_rejected('\(schema)', now(), now(), 10)",
        "SELECT public.forget_clients('\(schema).\(rows[service] ?? "")', now(), now(), 1, 1)",
      ] {
        #expect(try may(sql, connection) == (service == user), "\(user.rawValue): \(sql)")
      }
      #expect(
        try !may(
          "SELECT public.fold_counts('pg_temp.minute_count', '\(schema).\(minutes)', 'hour', 'epoch', now())",
          connection))
    }
    for sql in [
      "SELECT public.forget_batches('pg_temp', now(), 10)", "SELECT public.forget_batches(NULL, now(), 10)",
      "SELECT public.forget_allotments('pg_temp', 10)", "SELECT public.forget_allotments(NULL, 10)",
      "SELECT public.keep_days('pg_temp.batch', current_date, 2, 3, 90)",
      "SELECT public.forget_clients('pg_temp.batch', now(), now(), 1, 1)",
    ] {
      #expect(throws: PostgresError.self, "\(sql)") { try connection.query(sql) }
    }
  }

  private static let money = """
    INSERT INTO billing.charge_row (serve_id, batch_number, event_time, id_hash, terms, allotment, partition, budget_day, kind,
      fate, device, size, country, placement)
    SELECT public.first_uuid_at(now()), 1, now(), 0, 1, 1, 0, 0, vocabulary.charge_kind('click'),
      vocabulary.charge_fate('charged'), 1, 1, 'US', 'home';
    INSERT INTO billing.posting VALUES (0, 1, 'advertiser:acme', 'USD', 5, 0), (0, 1, 'developer:yardley', 'USD', 0, 5);
    INSERT INTO billing.balance VALUES (0, 'advertiser:acme', 'USD', 5, 0);
    INSERT INTO treasury.account (advertiser, currency, funded) VALUES ('acme', 'USD', 9);
    INSERT INTO treasury.funding VALUES ('acme', 'USD', '', 1, 9, NULL, 1);
    INSERT INTO billing.allotment (id, partition, ordinal, campaign, advertiser, currency, budget_day, granted, amount,
      campaign_free, serve_until, batch_number, granted_at, grant_version, click_rates)
    VALUES (1, 0, 1, 'summer', 'acme', 'USD', 0, 5, 5, 0, now(), 1, now(), 1, '1');
    """

  @Test("B5: a charge, a posting, a balance, a budget or an allotment that is written, nobody changes or takes away")
  func money() throws {
    try owner.executeScript(Self.money)
    let changes = [
      "billing.charge_row": "event_time = now()", "billing.posting": "debit = 9", "billing.balance": "debit = 9",
      "treasury.account": "funded = 99", "treasury.funding": "requested = 99", "billing.allotment": "amount = 4",
    ]
    for user in DatabaseUser.allCases {
      let connection = try connection(of: user)
      defer { connection.close() }
      for (table, change) in changes {
        for sql in [
          "UPDATE \(table) SET \(change)", "DELETE FROM \(table)", "TRUNCATE \(table)",
        ] {
          #expect(try !may(sql, connection), "\(user.rawValue): \(sql)")
        }
      }
      // A day's table goes only when its sums are kept.
      if user == .billing {
        _ = try connection.query("SELECT public.drop_day('billing.charge_row', current_date + 30)")
        #expect(try connection.query("SELECT FROM billing.charge_row").count == 1)
      }
    }
  }

  @Test("an instance ends the session of another instance of its service that stands still, and no other's")
  func sessions() throws {
    let (first, second, other) = (
      try connection(of: .billing), try connection(of: .billing), try connection(of: .clickTracking)
    )
    defer { for connection in [first, second, other] { connection.close() } }
    #expect(try !may("SELECT pg_terminate_backend(\(second.backendProcess), 5000)", other))
    #expect(try may("SELECT pg_terminate_backend(\(second.backendProcess), 5000)", first))
    #expect(throws: PostgresError.self) { try second.query("SELECT 1") }
  }

  @Test("each run of the migrations takes what is too much, and gives what is missing")
  func again() throws {
    try owner.executeScript(
      """
      GRANT ALL ON billing.posting TO handbill_reporting, PUBLIC;
      GRANT UPDATE (amount) ON billing.allotment TO handbill_billing;
      GRANT EXECUTE ON FUNCTION public.drop_day TO PUBLIC;
      GRANT CREATE ON SCHEMA billing TO handbill_billing;
      REVOKE INSERT ON billing.charge_row FROM handbill_billing;
      """)
    let billing = try connection(of: .billing)
    defer { billing.close() }
    let statements = [
      "INSERT INTO billing.charge_row DEFAULT VALUES", "UPDATE billing.allotment SET amount = NULL WHERE false",
      "CREATE TABLE billing.own (a int)", "DELETE FROM billing.posting WHERE false",
    ]
    #expect(try statements.map { try may($0, billing) } == [false, true, true, true])
    _ = try MigrationRunner().up(owner)
    #expect(try statements.map { try may($0, billing) } == [true, false, false, false])
    try functions()
  }

  @Test("a missing right is told with what mends it")
  func hint() throws {
    let connection = try connection(of: .reporting)
    defer { connection.close() }
    let error = #expect(throws: PostgresError.self) { try connection.query("SELECT FROM billing.posting") }
    #expect(error?.isMissingRight == true)
    #expect(error?.description.contains("handbill migrate up") == true)
  }
}
