import AdCore
import AdEvents
import Foundation
import Kafka
import LocalProcesses
import Postgres
import Records
import Runtime
import TestServers
import TestValues

/// The time from request to response through Kafka, of ad selection and, beside it, of a bare echo and of an echo that
/// commits one changed row before it answers: what nothing that keeps its decisions can do without. They are asked in
/// turn, request by request, so that each meets the same moments of the machine. Alone, one after the other, they meet
/// different ones: no ratio is made of those times. There each is asked as often as all are in turn.
struct SelectionBenchmark {
  let surroundings: Surroundings
  /// Requests to each party.
  static let perSecond = [200, 2_000]
  /// The broker's compiler takes a good part of two cores until then.
  static let warmUpSeconds = 30
  static let secondsAlone = 30
  /// So long all are asked in turn, in each round.
  static let seconds = 20
  static let app = "bench"
  static let key = "bench-distribution-key"

  static let catalog = sampleCatalogFile(app: app, key: key)

  func run() throws -> [BenchmarkResult] {
    let servers = try [Self.bare, Self.committing].map {
      try EchoServer.start($0, surroundings, commits: $0 == Self.committing)
    }
    defer { for server in servers { server.stop() } }
    progress("starting ad selection, billing and the console")
    let services = try Self.startServices(surroundings)
    defer { for service in services.reversed() { service.terminate(graceMilliseconds: 10_000) } }
    var series = 0
    // Each has clients of its own, who are not throttled.
    func parties() -> [RoundTrip.Party] {
      series += 1
      return [.echo(Self.bare), .echo(Self.committing), .selection(series: series)]
    }
    progress("warming up")
    _ = try trip(parties(), perSecond: Self.perSecond[0], seconds: Self.warmUpSeconds).measure()
    progress("asking each alone for \(Self.secondsAlone) s")
    let alone = try parties().map { try askAlone($0, service: services[0]) }
    var results: [BenchmarkResult] = []
    var unanswered = alone.reduce(0) { $0 + $1.latencies.unanswered }
    for perSecond in Self.perSecond {
      var rounds = Rounds()
      for round in 1...Rounds.count {
        progress("asking all in turn, \(perSecond)/s each, round \(round) of \(Rounds.count)")
        let machine = MachineTime()
        let inTurn = try trip(parties(), perSecond: perSecond, seconds: Self.seconds).measure()
        for (name, latencies) in zip(Self.names, inTurn) {
          rounds.note("\(name) at \(perSecond)/s, p50", latencies.quantile(0.5))
          rounds.note("\(name) at \(perSecond)/s, p99", latencies.quantile(0.99))
          unanswered += latencies.unanswered
        }
        rounds.note("processors taken by the host", 100 * machine.stolen)
      }
      results += Self.results(rounds, perSecond: perSecond)
    }
    results.append(BenchmarkResult("unanswered", Double(unanswered), "requests"))
    for (name, party) in zip(Self.names, alone) {
      results.append(BenchmarkResult("\(name) alone, p50", party.latencies.quantile(0.5), "ms"))
      results.append(BenchmarkResult("\(name) alone, p99", party.latencies.quantile(0.99), "ms"))
    }
    results += [
      BenchmarkResult("ad selection alone, processor time", alone[2].serviceMicroseconds, "us/request"),
      BenchmarkResult(
        "ad selection alone, processor time of PostgreSQL", alone[2].postgresMicroseconds, "us/request",
        limit: ("committing echo alone", alone[1].postgresMicroseconds)),
    ]
    for (name, service) in zip(["ad selection", "billing", "console"], services) {
      results.append(try ResidentMemory.underLoad("\(name), asked for ads", service))
    }
    return results
  }

  /// What was measured of a party that was asked alone: latencies and, for each request, processor time.
  private struct Alone {
    let latencies: RoundTrip.Latencies
    let serviceMicroseconds: Double
    let postgresMicroseconds: Double
  }

  private func askAlone(_ party: RoundTrip.Party, service: ChildProcess) throws -> Alone {
    let service = ProcessorTime(service.processIdentifier)
    let postgres = ProcessorTime(surroundings.postgres.processIdentifier ?? 0)
    let latencies = try trip([party], perSecond: Self.perSecond[0], seconds: Self.secondsAlone).measure()[0]
    let answered = Double(latencies.microseconds.count)
    return Alone(
      latencies: latencies, serviceMicroseconds: service.microseconds / answered,
      postgresMicroseconds: postgres.microseconds / answered)
  }

  private static let names = ["echo", "committing echo", "ad selection"]

  private static func results(_ rounds: Rounds, perSecond: Int) -> [BenchmarkResult] {
    ["p50", "p99"].flatMap { quantile in
      let names = names.map { "\($0) at \(perSecond)/s, \(quantile)" }
      return [
        rounds.result(names[0], "ms"), rounds.result(names[1], "ms", beside: names[0]),
        rounds.result(names[2], "ms", beside: names[0]), rounds.result(names[2], "ms", beside: names[1]),
      ]
    } + [rounds.result("processors taken by the host", "%")]
  }

  private static let bare = "echo"
  private static let committing = "committed"

  /// - Parameter perSecond: requests to each party.
  private func trip(_ parties: [RoundTrip.Party], perSecond: Int, seconds: Int) -> RoundTrip {
    RoundTrip(
      configuration: surroundings.kafkaConfiguration, parties: parties,
      load: .perSecond(perSecond * parties.count), seconds: seconds)
  }

  /// Ad selection, billing and the console, with the catalogue of one campaign.
  static func startServices(_ surroundings: Surroundings) throws -> [ChildProcess] {
    let file = surroundings.folder.path + "/catalog.json"
    try catalog.write(toFile: file, atomically: true, encoding: .utf8)
    try surroundings.command(["topics", "create", "-p", "\(Surroundings.partitions)", "--app", app])
    try surroundings.command(["catalog", "apply", file])
    let ports = try FreePort.find(count: 4)
    let names = ["handbill-ad-selection", "handbill-billing", "handbill-console"]
    return try zip(names, ports).map { name, port in
      try surroundings.service(name, adminPort: port, settings: ["HANDBILL_CONSOLE_PORT": "\(ports[3])"])
    }
  }

  /// A request of a client of its own, who is not throttled.
  ///
  /// - Parameter series: tells those that ask under the same number apart.
  static func request(number: Int, series: Int) -> AdRequest {
    let client = "client-\(number)-\(series)"
    let id = UUIDv7(timestamp: SystemClock().now, randomHigh: 0, randomLow: UInt64(number) << 8 | UInt64(series))
    return AdRequest.sample {
      ($0.requestID, $0.appKey, $0.app, $0.clientID, $0.sessionID) = (id, key, known(AppID(app)), client, client)
    }
  }
}

extension RoundTrip.Party {
  /// Asks ad selection over Kafka.
  static func selection(series: Int) -> RoundTrip.Party {
    let topic = Topic.responses.name + SelectionBenchmark.app
    return RoundTrip.Party(
      way: .kafka(requestTopic: Topic.requests.name, responseTopic: topic) { number in
        let request = SelectionBenchmark.request(number: number, series: series)
        return (
          KafkaPartition.of(key: request.clientID, count: Surroundings.partitions), request.encoded(),
          Workload.headers(.adRequested, id: request.requestID)
        )
      })
  }

  /// The same through the edge.
  static func edge(port: Int, series: Int) -> RoundTrip.Party {
    RoundTrip.Party(
      way: .http(port: port, path: "/v1/ads") { SelectionBenchmark.request(number: $0, series: series).encoded() })
  }
}
