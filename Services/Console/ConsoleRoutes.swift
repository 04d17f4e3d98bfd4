internal import AdCore
internal import HTTP
internal import JSON
internal import Operations
internal import Postgres
internal import Runtime

/// The console's addresses: a JSON API, and two pages. Everything is read, nothing is written.
struct ConsoleRoutes: Sendable {
  private let pool: PostgresPool
  private let hosts: ConsoleHosts
  private let live: DashboardReports
  private let test: DashboardReports
  private let clock: any TimeSource
  private let state: @Sendable () -> NetworkState

  init(
    pool: PostgresPool, hosts: ConsoleHosts, clock: any TimeSource, state: @escaping @Sendable () -> NetworkState
  ) {
    self.pool = pool
    self.hosts = hosts
    live = DashboardReports(pool, isTest: false, clock: clock)
    test = DashboardReports(pool, isTest: true, clock: clock)
    self.clock = clock
    self.state = state
  }

  var router: Router {
    var router = Router(admission: hosts.check)
    router.get("/") { request in try shown { try dashboardPage(request) } }
    router.get("/explain") { request in try shown { try explanationPage(request) } }
    router.get("/style.css") { _ in .text(Stylesheet.text, contentType: "text/css; charset=utf-8") }
    router.get(ConsoleAPI.reports) { request in try told { try report(request.query).json } }
    router.get(ConsoleAPI.reports + "/:dimension") { request in
      let dimension = request.parameters["dimension"] ?? ""
      guard ReportDimension(rawValue: dimension) != nil else {
        let names = ReportDimension.allCases.map(\.rawValue).joined(separator: ", ")
        throw HTTPProblem(404, "There are reports by \(names).")
      }
      return try told { try report([(name: "group", value: dimension)] + request.query).json }
    }
    router.get(ConsoleAPI.anomalies) { request in
      try told { try Anomalies(pool).list(try query(request.query, inListBy: Anomalies.dimensions)).json(\.json) }
    }
    router.get(ConsoleAPI.conversions) { request in
      let asked = try query(request.query, inListBy: Conversions.dimensions)
      return try told { try Conversions(pool).list(asked, now: clock.now).json(\.json) }
    }
    router.get(ConsoleAPI.explain + "/:id") { request in
      try told { try explanation(request.parameters["id"] ?? "", request).json }
    }
    router.get(ConsoleAPI.reconciliation) { _ in
      guard let finished = state().reconciliation else {
        throw HTTPProblem(503, "The first comparison of all accounts has not come to its end yet.")
      }
      return .json(finished.json)
    }
    router.get(ConsoleAPI.catalog) { request in try told { try catalog(request) } }
    return router
  }

  /// An answer to a program; while PostgreSQL is away, or where it takes too long, one that says so.
  private func told(_ read: () throws -> JSONValue) throws -> HTTPResponse {
    do {
      return .json(try read())
    } catch let error as PostgresError where error.isUnavailable {
      throw HTTPProblem(503, UnavailablePage.awayReason + ": ask again later.")
    } catch let error as PostgresError where error.isStatementEnded {
      throw HTTPProblem(503, Self.tooLong(error))
    }
  }

  /// An answer to a person, likewise.
  private func shown(_ read: () throws -> HTTPResponse) throws -> HTTPResponse {
    do {
      return try read()
    } catch let error as PostgresError where error.isUnavailable {
      return .html(UnavailablePage.away.html, status: 503)
    } catch let error as PostgresError where error.isStatementEnded {
      return .html(UnavailablePage.slow(Self.tooLong(error)).html, status: 503)
    }
  }

  private static func tooLong(_ error: PostgresError) -> String {
    "This took too long. \(error.hint ?? "Ask again later")."
  }

  private func explanationPage(_ request: HTTPRequest) throws -> HTTPResponse {
    let id = request.query("id") ?? ""
    guard !id.isEmpty else { return .html(ExplanationPage(id: id, text: "").html) }
    do {
      return .html(ExplanationPage(id: id, text: try explanation(id, request).text).html)
    } catch let problem as HTTPProblem {
      return .html(ExplanationPage(id: id, text: problem.detail).html, status: problem.status)
    }
  }

  private func explanation(_ id: String, _ request: HTTPRequest) throws -> ServeExplanation {
    guard let subject = ExplainSubject.read(id) else {
      throw HTTPProblem(
        400,
        "Give a request id or serve id (a UUID of version 7, or its 16 bytes in base64) or a serve token in base64.")
    }
    let day = try request.query("day").map { text in
      guard let day = Timestamp(utcText: text) ?? Timestamp(utcText: text + "T00:00:00Z") else {
        throw HTTPProblem(400, "day: give a day such as 2026-07-01 or a moment such as 2026-07-01T12:00:00Z")
      }
      return day
    }
    let explanation = try Explain(pool).explain(subject, around: day)
    guard explanation.isKnown else {
      throw HTTPProblem(404, explanation.text.split(whereSeparator: \.isNewline).joined(separator: " "))
    }
    return explanation
  }

  private func report(_ words: [(name: String, value: String)]) throws -> Report {
    try Reports(pool).report(try query(words))
  }

  private func query(_ words: [(name: String, value: String)]) throws -> ReportQuery {
    switch ReportQuery.read(words) {
    case .success(let query): return query
    case .failure(let mistakes): throw HTTPProblem(400, mistakes.description)
    }
  }

  private func query(
    _ words: [(name: String, value: String)], inListBy dimensions: [ReportDimension]
  ) throws -> ReportQuery {
    let query = try query(words)
    if let mistakes = query.mistakes(inListBy: dimensions) { throw HTTPProblem(400, mistakes.description) }
    return query
  }

  private func catalog(_ request: HTTPRequest) throws -> JSONValue {
    let kind = request.query("kind")
    let chosen = kind.flatMap(CatalogKind.init(rawValue:))
    if let kind, chosen == nil {
      let names = CatalogKind.allCases.map(\.rawValue).joined(separator: ", ")
      throw HTTPProblem(400, "“\(kind.prefix(40))” is none of the kinds \(names).")
    }
    let limit = request.query("limit").map { Int($0) ?? 0 } ?? ReportQuery.rowsDefault
    guard (1...ReportQuery.rowsLimit).contains(limit) else {
      throw HTTPProblem(400, "limit: give 1 to \(ReportQuery.rowsLimit)")
    }
    let page = try CatalogStore(pool).page(kind: chosen, after: request.query("after") ?? "", rowsMaximum: limit)
    return page.json { row in
      [
        "key": .text(row.key), "kind": .text(row.kind.rawValue), "version": .integer(row.version),
        "changedAt": .text(row.changedAt.utcText), "record": row.body,
      ]
    }
  }

  private func dashboardPage(_ request: HTTPRequest) throws -> HTTPResponse {
    let isTest = request.query("traffic") == "test"
    let reports = try (isTest ? test : live).reports()
    return .html(DashboardPage(reports: reports, isTest: isTest, state: state()).html)
  }
}
