import AdCore
import AdEvents
import HTTP
import LocalProcesses
import Runtime

/// A request for an ad through the edge, over HTTP and back, beside the same request over Kafka alone, as an app's own server
/// asks, and beside a bare echo of the library that the edge speaks HTTP with. They are asked in turn, at a fixed rate; and each by
/// itself as fast as it answers.
struct EdgeBenchmark {
  let surroundings: Surroundings
  /// Requests to each party.
  private static let perSecond = [200, 1_000]
  private static let warmUpSeconds = 20
  private static let seconds = 15
  private static let secondsAtMost = 5
  /// Requests that are under way while as many as possible are asked.
  private static let underWay = 64
  private static let names = ["HTTP echo", "over Kafka alone", "through the edge"]
  private static let host = "processors taken by the host"

  func run() throws -> [BenchmarkResult] {
    progress("starting ad selection, billing, the console and the edge")
    let services = try SelectionBenchmark.startServices(surroundings)
    defer { for service in services.reversed() { service.terminate(graceMilliseconds: 10_000) } }
    let ports = try FreePort.find(count: 2)
    let edge = try surroundings.service(
      "handbill-edge", adminPort: ports[0],
      settings: [
        "HANDBILL_EDGE_PORT": "\(ports[1])", "HANDBILL_EDGE_ADDRESS_RATE": "0", "HANDBILL_EDGE_APP_RATE": "0",
        "HANDBILL_EDGE_CLIENT_RATE": "0",
        "HANDBILL_EDGE_CONNECTIONS_OF_ADDRESS": "0",
      ])
    defer { edge.terminate(graceMilliseconds: 10_000) }
    try surroundings.awaitReadiness("handbill-edge", adminPort: ports[0])
    let echo = try Self.startEcho()
    defer { echo.stop(graceMilliseconds: 1_000) }
    var series = 0
    func parties() -> [RoundTrip.Party] {
      series += 1
      return [
        RoundTrip.Party(
          way: .http(port: echo.port, path: "/echo") { [series] in
            SelectionBenchmark.request(number: $0, series: series).encoded()
          }), .selection(series: series), .edge(port: ports[1], series: series),
      ]
    }
    progress("warming up")
    _ = try trip(parties(), .perSecond(600), seconds: Self.warmUpSeconds).measure()
    return try inTurn(parties) + atMost(parties, edge)
      + [ResidentMemory.underLoad("the edge, asked for ads", edge)]
  }

  /// Answers with what it is sent, and does nothing besides.
  private static func startEcho() throws -> HTTPServer {
    var router = Router()
    router.on(.post, "/echo") { .bytes($0.body, contentType: "application/protobuf") }
    var limits = HTTPLimits()
    limits.connectionsOfAddressMaximum = nil
    return try HTTPServer(port: 0, router: router, limits: limits)
  }

  private func inTurn(_ parties: () -> [RoundTrip.Party]) throws -> [BenchmarkResult] {
    var results: [BenchmarkResult] = []
    var unanswered = 0
    for perSecond in Self.perSecond {
      var rounds = Rounds()
      for round in 1...Rounds.count {
        progress("asking all in turn, \(perSecond)/s each, round \(round) of \(Rounds.count)")
        let machine = MachineTime()
        let asked = parties()
        let latencies = try trip(asked, .perSecond(perSecond * asked.count), seconds: Self.seconds).measure()
        for (name, latencies) in zip(Self.names, latencies) {
          rounds.note("\(name) at \(perSecond)/s, p50", latencies.quantile(0.5))
          rounds.note("\(name) at \(perSecond)/s, p99", latencies.quantile(0.99))
          unanswered += latencies.unanswered
        }
        rounds.note(Self.host, 100 * machine.stolen)
      }
      for quantile in ["p50", "p99"] {
        let names = Self.names.map { "\($0) at \(perSecond)/s, \(quantile)" }
        results += [
          rounds.result(names[0], "ms"), rounds.result(names[1], "ms"),
          rounds.result(names[2], "ms", beside: names[0]), rounds.result(names[2], "ms", beside: names[1]),
        ]
      }
      results.append(rounds.result(Self.host, "%"))
    }
    return results + [BenchmarkResult("not answered", Double(unanswered), "requests")]
  }

  private func atMost(_ parties: () -> [RoundTrip.Party], _ edge: ChildProcess) throws -> [BenchmarkResult] {
    var rounds = Rounds()
    for round in 1...Rounds.count {
      progress("asking as much as is answered, round \(round) of \(Rounds.count)")
      for (name, party) in zip(Self.names, parties()) {
        let time = ProcessorTime(edge.processIdentifier)
        let latencies = try trip([party], .underWay(Self.underWay), seconds: Self.secondsAtMost).measure()[0]
        rounds.note("\(name), at most", Double(latencies.microseconds.count) / Double(Self.secondsAtMost))
        if name == Self.names[2] {
          rounds.note("a request, processor time of the edge", time.microseconds / Double(latencies.microseconds.count))
        }
      }
    }
    let names = Self.names.map { "\($0), at most" }
    return [
      rounds.result(names[0], "requests/s"), rounds.result(names[1], "requests/s"),
      rounds.result(names[2], "requests/s", beside: names[0]), rounds.result(names[2], "requests/s", beside: names[1]),
      rounds.result("a request, processor time of the edge", "us"),
    ]
  }

  private func trip(_ parties: [RoundTrip.Party], _ load: RoundTrip.Load, seconds: Int) -> RoundTrip {
    RoundTrip(configuration: surroundings.kafkaConfiguration, parties: parties, load: load, seconds: seconds)
  }
}
