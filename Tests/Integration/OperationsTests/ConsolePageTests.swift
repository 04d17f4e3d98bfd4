import AdCore
import AdEvents
import LocalProcesses
import Postgres
import Runtime
import Synchronization
import TestServices
import TestValues
import Testing

@testable import Console
@testable import HTTP
@testable import Operations

/// What a person sees who opens the console.
@Suite("The console's pages")
struct ConsolePageTests {
  private static let day = Timestamp(milliseconds: 1_277_942_400_000)

  /// Each look at it is 10 ms later.
  private final class SteppingClock: TimeSource {
    private let looks = Atomic<Int64>(0)
    var now: Timestamp { ConsolePageTests.day }
    var monotonicMilliseconds: Int64 { looks.add(10, ordering: .relaxed).newValue }
  }

  private static func database() async throws -> PostgresConfiguration {
    let configuration = try await TestDatabase.configuration()
    let connection = try PostgresConnection(configuration)
    defer { connection.close() }
    try connection.executeScript(ReportTests.counts)
    return configuration
  }

  private static func ask(
    _ path: [String], _ query: [(name: String, value: String)] = [], at database: PostgresConfiguration,
    state: NetworkState = NetworkState()
  ) throws -> (status: Int, text: String) {
    let pool = PostgresPool(database, size: 1)
    defer { pool.close() }
    let routes = ConsoleRoutes(pool: pool, hosts: ConsoleHosts([]), clock: MovingClock(day)) { state }
    guard case .found(.now(let handler), let parameters) = routes.router.match(.get, path) else { return (404, "") }
    let request = HTTPRequest(
      method: .get, path: "/" + path.joined(separator: "/"), query: query, parameters: parameters)
    do {
      let response = try handler(request)
      return (response.status, String(decoding: response.body, as: UTF8.self))
    } catch let problem as HTTPProblem {
      return (problem.status, problem.detail)
    }
  }

  @Test("what takes longer than a statement may answers 503, to programs and persons, and says how to ask for less")
  func slow() async throws {
    let database = try await Self.database()
    try await onOwnThread {
      let owner = try PostgresConnection(database)
      var hurried = database
      hurried.statementTimeoutMilliseconds = 200
      try owner.begin()
      try owner.execute(sql: "LOCK TABLE ad_selection.minute_count")
      let several = try Self.ask(["api", "v1", "reports"], [("group", "app,country")], at: hurried)
      #expect(several.status == 503 && several.text.hasPrefix("This took too long. By several dimensions, "))
      let one = try Self.ask(["api", "v1", "reports", "app"], at: hurried)
      #expect(one.status == 503 && one.text == "This took too long. Ask for less time (from, until).")
      let page = try Self.ask([], at: hurried)
      #expect(page.status == 503 && page.text.contains("This took too long. Ask for less time (from, until)."))
      try owner.rollback()
      let after = try Self.ask(["api", "v1", "reports"], [("group", "app,country")], at: database)
      #expect(after.status == 200)
    }
  }

  private static func finished(differences: Int64, held: Int64 = 0) -> FinishedReconciliation {
    let checks = [
      ReconciliationCheck(rule: "I6", name: "balances", compared: 9, differences: differences),
      ReconciliationCheck(rule: "I8", name: "test traffic", compared: 9, differences: 0),
    ]
    let found = Reconciliation(
      checks: checks, notConsumed: [], parked: 0, waiting: 0, suspense: 0, held: held, lostServes: [], reserved: [],
      finality: Finality(serves: 0, final: 0, impressions: 0, expired: 0))
    return FinishedReconciliation(reconciliation: found, startedAt: day, finishedAt: day)
  }

  @Test("it says first whether the accounts agree, whether paid ads are served, and what waits for a person")
  func state() async throws {
    let database = try await Self.database()
    let well = try await onOwnThread {
      try Self.ask([], at: database, state: NetworkState(reconciliation: Self.finished(differences: 0)))
    }
    #expect(well.status == 200 && !well.text.contains("class=\"fault\""))
    #expect(well.text.contains("All accounts agree, compared 2010-07-01 00:00 UTC."))
    #expect(well.text.contains("Paid ads are served.") && !well.text.contains("wait for a person"))
    let bad = try await onOwnThread {
      try Self.ask(
        [], at: database,
        state: NetworkState(reconciliation: Self.finished(differences: 3, held: 1_200), stop: .difference))
    }
    #expect(bad.text.contains("Accounts differ: 3 differences by I6, compared"))
    #expect(bad.text.contains("Paid ads are stopped: accounts that must agree differ."))
    #expect(bad.text.contains("1,200 held (handbill traffic)"))
    let early = try await onOwnThread { try Self.ask([], at: database) }
    #expect(early.text.contains("being compared for the first time"))
  }

  @Test("without figures it says so, and shows no table")
  func empty() async throws {
    let database = try await TestDatabase.configuration()
    let page = try await onOwnThread { try Self.ask([], at: database) }
    #expect(page.status == 200 && page.text.contains("Nothing yet.") && !page.text.contains("<table>"))
  }

  @Test("on a narrow screen each figure has its title")
  func titles() async throws {
    let database = try await Self.database()
    let page = try await onOwnThread { try Self.ask([], at: database) }
    #expect(page.text.contains("<td class=\"number\" data-title=\"Impressions\">9,300</td>"))
    #expect(page.text.contains("data-title=\"Errors\""))
  }

  @Test("while PostgreSQL is away a page says so and asks again by itself, and the API answers 503")
  func away() async throws {
    let database = try PostgresConfiguration("postgresql://nobody@127.0.0.1:1/none")
    try await onOwnThread {
      for path in [[], ["explain"]] {
        let page = try Self.ask(path, [("id", "018f3c1e-7b2a-7000-8000-000000000001")], at: database)
        #expect(page.status == 503 && page.text.contains("PostgreSQL cannot be reached"), "\(page)")
        #expect(page.text.contains("http-equiv=\"refresh\"") && page.text.contains("DatabaseAway"))
      }
      for path in ["reports", "conversions", "anomalies", "catalog", "explain/018f3c1e-7b2a-7000-8000-000000000001"] {
        let answer = try Self.ask(("api/v1/" + path).split(separator: "/").map(String.init), at: database)
        #expect(answer.status == 503 && answer.text.contains("PostgreSQL cannot be reached"), "\(path): \(answer)")
      }
    }
  }

  @Test("an id is explained on a page of its own; what is none, and what nobody knows, is told there")
  func explanation() async throws {
    let database = try await Self.database()
    try await onOwnThread {
      let form = try Self.ask(["explain"], at: database)
      #expect(form.status == 200 && form.text.contains("<form") && !form.text.contains("<pre>"))
      let wrong = try Self.ask(["explain"], [("id", "<b>")], at: database)
      #expect(wrong.status == 400 && wrong.text.contains("Give a request id") && !wrong.text.contains("<b>"))
      let unknown = try Self.ask(["explain"], [("id", "018f3c1e-7b2a-7000-8000-000000000001")], at: database)
      #expect(unknown.status == 404 && unknown.text.contains("<pre>"))
    }
  }

  @Test("who looks again soon is shown the same figures, and later new ones")
  func shared() async throws {
    let database = try await Self.database()
    try await onOwnThread {
      let pool = PostgresPool(database, size: 1)
      defer { pool.close() }
      let connection = try PostgresConnection(database)
      defer { connection.close() }
      let reports = DashboardReports(pool, isTest: false, clock: SteppingClock())
      func requests() throws -> Int64? { try reports.reports().first?.total.requests }
      let first = try #require(try requests())
      try connection.executeScript("UPDATE ad_selection.minute_count SET requests = requests + 1 WHERE app = 'idle'")
      // It took 10 ms, and is looked at again 10 ms later.
      #expect(try requests() == first)
      for _ in 0..<10 { _ = try requests() }
      #expect(try requests() == first + 1)
    }
  }
}
