import AdCore
import HTTP
import Operations
import Postgres

/// The console's addresses: a JSON API, and one page. Everything is read, nothing is written.
struct ConsoleRoutes: Sendable {
  private let pool: PostgresPool
  private let windows: Windows

  init(pool: PostgresPool, windows: Windows) {
    self.pool = pool
    self.windows = windows
  }

  var router: Router {
    var router = Router()
    router.get("/") { request in try page(request) }
    router.get("/style.css") { _ in .text(Stylesheet.text, contentType: "text/css; charset=utf-8") }
    router.get("/api/reports") { request in json(try report(request.query).json) }
    router.get("/api/reports/:dimension") { request in
      let dimension = request.parameters["dimension"] ?? ""
      guard ReportDimension(rawValue: dimension) != nil else {
        let names = ReportDimension.allCases.map(\.rawValue).joined(separator: ", ")
        throw HTTPProblem(404, "There are reports by \(names).")
      }
      return json(try report([(name: "group", value: dimension)] + request.query).json)
    }
    router.get("/api/anomalies") { request in
      json(.list(try Anomalies(pool).list(try query(request.query)).map(\.json)))
    }
    router.get("/api/explain/:id") { request in
      guard let id = UUIDv7(request.parameters["id"] ?? "") else {
        throw HTTPProblem(400, "A serve id is a UUID of version 7.")
      }
      let explanation = try Explain(pool).serve(id)
      guard explanation.isKnown else { throw HTTPProblem(404, "Nothing is known of serve \(id).") }
      return json(explanation.json)
    }
    router.get("/api/reconciliation") { _ in json(try Reconciler(pool, windows: windows).reconcile().json) }
    router.get("/api/catalog") { request in json(try catalog(kind: request.query("kind"))) }
    return router
  }

  private func json(_ value: JSONValue) -> HTTPResponse {
    .text(value.prettyText + "\n", contentType: "application/json")
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

  private func catalog(kind: String?) throws -> JSONValue {
    let chosen = kind.flatMap(CatalogKind.init(rawValue:))
    if let kind, chosen == nil {
      let names = CatalogKind.allCases.map(\.rawValue).joined(separator: ", ")
      throw HTTPProblem(400, "“\(kind.prefix(40))” is none of the kinds \(names).")
    }
    return .list(
      try CatalogStore(pool).list(kind: chosen).map { row in
        [
          "key": .text(row.key), "kind": .text(row.kind.rawValue), "version": .integer(row.version),
          "changedAt": .text(row.changedAt.utcText), "record": row.body,
        ]
      })
  }

  private func page(_ request: HTTPRequest) throws -> HTTPResponse {
    let isTest = request.query("traffic") == "test"
    let reports = try [ReportDimension.app, .campaign, .country, .device].map { dimension in
      try Reports(pool).report(ReportQuery(grouping: [dimension], isTest: isTest, rowsMaximum: 50))
    }
    return .html(DashboardPage(reports: reports, isTest: isTest).html)
  }
}
