package import HTTP
internal import JSON

/// What operators and their tools ask of a process: `/livez`, `/readyz`, `/metrics`, `/version`.
package enum AdminServer {
  /// The routes, for a server of their own or together with others.
  package static func routes(
    service: String, health: Health, metrics: MetricsRegistry, build: BuildInformation = .current
  ) -> Router {
    var router = Router()
    router.get("/livez") { request in answer(health.liveness(), isVerbose: request.query("verbose") != nil) }
    router.get("/readyz") { request in answer(health.readiness(), isVerbose: request.query("verbose") != nil) }
    router.get("/metrics") { _ in .text(metrics.exposition(), contentType: MetricsText.contentType) }
    router.get("/version") { _ in
      .json(["revision": .text(build.revision), "service": .text(service), "version": .text(build.version)])
    }
    return router
  }

  /// The status is the contract; the list is for people, and is always there when something is wrong.
  static func answer(_ lines: [Health.Line], isVerbose: Bool) -> HTTPResponse {
    let isWell = lines.allSatisfy { $0.problem == nil }
    guard isVerbose || !isWell else { return .text("ok\n") }
    let list = lines.map { line in
      line.problem.map { "[-]\(line.name): \(TextSafety.singleLine($0))" } ?? "[+]\(line.name) ok"
    }
    return .text((list + [isWell ? "ok" : "failed"]).joined(separator: "\n") + "\n", status: isWell ? 200 : 503)
  }

  /// What a container's health check runs: the executable asks its own admin port.
  ///
  /// - Parameter address: where the server listens; `0.0.0.0` and `::` are asked on loopback.
  /// - Returns: ``ExitCode/success`` when the answer is 200.
  package static func check(address: String, port: Int, path: String) -> ExitCode {
    let host = ["0.0.0.0", "::", "::1"].contains(address) ? "127.0.0.1" : address
    do {
      let response = try HTTPClient.get("http://\(host):\(port)\(path)")
      if response.status == 200 { return .success }
      Terminal.note(String(decoding: response.body, as: UTF8.self))
    } catch {
      Terminal.note("no answer from \(host) port \(port): \(error)")
    }
    return .failure
  }
}
