internal import AdCore
internal import HTTP
internal import JSON
internal import Operations
internal import Postgres
internal import Runtime

/// The console's addresses: a JSON API, and one page. Everything is read, nothing is written.
struct ConsoleRoutes: Sendable {
  private let pool: PostgresPool
  private let hosts: ConsoleHosts
  private let clock: any TimeSource
  private let reconciliation: @Sendable () -> FinishedReconciliation?

  /// - Parameter reconciliation: the last comparison of all accounts that came to its end.
  init(
    pool: PostgresPool, hosts: ConsoleHosts, clock: any TimeSource,
    reconciliation: @escaping @Sendable () -> FinishedReconciliation?
  ) {
    self.pool = pool
    self.hosts = hosts
    self.clock = clock
    self.reconciliation = reconciliation
  }

  var router: Router {
    var router = Router(admission: hosts.check)
    router.get("/") { request in try page(request) }
    router.get("/style.css") { _ in .text(Stylesheet.text, contentType: "text/css; charset=utf-8") }
    router.get(ConsoleAPI.reports) { request in .json(try report(request.query).json) }
    router.get(ConsoleAPI.reports + "/:dimension") { request in
      let dimension = request.parameters["dimension"] ?? ""
      guard ReportDimension(rawValue: dimension) != nil else {
        let names = ReportDimension.allCases.map(\.rawValue).joined(separator: ", ")
        throw HTTPProblem(404, "There are reports by \(names).")
      }
      return .json(try report([(name: "group", value: dimension)] + request.query).json)
    }
    router.get(ConsoleAPI.anomalies) { request in
      .json(try Anomalies(pool).list(try query(request.query, inListBy: Anomalies.dimensions)).json(\.json))
    }
    router.get(ConsoleAPI.conversions) { request in
      .json(try Conversions(pool).list(try query(request.query, inListBy: Conversions.dimensions)).json(\.json))
    }
    router.get(ConsoleAPI.explain + "/:id") { request in .json(try explanation(request)) }
    router.get(ConsoleAPI.reconciliation) { _ in
      guard let finished = reconciliation() else {
        throw HTTPProblem(503, "The first comparison of all accounts has not come to its end yet.")
      }
      return .json(finished.json)
    }
    router.get(ConsoleAPI.catalog) { request in .json(try catalog(request)) }
    return router
  }

  private func explanation(_ request: HTTPRequest) throws -> JSONValue {
    guard let subject = ExplainSubject.read(request.parameters["id"] ?? "") else {
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
    return explanation.json
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

  /// Of the latest days: a page that is open asks again and again, and shall not read what there was in years.
  private func page(_ request: HTTPRequest) throws -> HTTPResponse {
    let isTest = request.query("traffic") == "test"
    let today = clock.now.milliseconds / Windows.dayMilliseconds
    let from = Timestamp(milliseconds: (today - DashboardPage.daysShown + 1) * Windows.dayMilliseconds)
    let reports = try [ReportDimension.app, .campaign, .country, .device].map { dimension in
      try Reports(pool).report(ReportQuery(grouping: [dimension], from: from, isTest: isTest, rowsMaximum: 50))
    }
    return .html(DashboardPage(reports: reports, isTest: isTest).html)
  }
}
