import AdCore
import AdEvents
import Foundation
import Kafka
import LocalProcesses
import Postgres
import Runtime

/// The time from request to response through Kafka, of ad selection and, beside it, of a bare echo and of an echo that
/// commits one changed row before it answers: what nothing that keeps its decisions can do without. They are asked in
/// turn, request by request, so that each meets the same moments of the machine. Alone, one after the other, they meet
/// different ones: no ratio is made of those times. There each is asked as often as all are in turn.
struct SelectionBenchmark {
  let surroundings: Surroundings
  /// Of all parties together.
  static let perSecond = 200
  /// The broker's compiler takes a good part of two cores until then.
  static let warmUpSeconds = 30
  static let secondsAlone = 30
  /// So long all are asked in turn.
  static let seconds = 120
  static let app = "bench"
  static let key = "bench-distribution-key"

  static let catalog = """
    {
      "settings": { "countries": ["US"] },
      "advertisers": [
        { "id": "acme", "name": "Acme", "currency": "USD", "timeZone": "UTC", "accountFunding": "1000000000.00" }
      ],
      "campaigns": [
        { "id": "launch", "advertiser": "acme", "name": "Launch", "kind": "brand", "cpm": "10.00", "clickPrice": "2.00",
          "totalBudget": "1000000000.00", "flightStart": "2020-01-01T00:00:00Z",
          "flightEnd": "2100-01-01T00:00:00Z" }
      ],
      "ads": [
        { "id": "launch-1", "campaign": "launch", "action": { "kind": "cover", "destination": "https://acme.example/" },
          "images": { "320x50": "https://acme.example/p.png", "480x32": "https://acme.example/l.png" } }
      ],
      "developers": [ { "id": "dev", "name": "Dev" } ],
      "apps": [
        { "id": "\(app)", "developer": "dev", "name": "Bench", "bundleID": "com.example.bench",
          "isAgreementSigned": true, "isUnder17": false, "areAdsEnabled": true }
      ],
      "appKeys": [ { "app": "\(app)", "build": "distribution", "key": "\(key)" } ]
    }
    """

  func run() throws -> [BenchmarkResult] {
    let servers = try [Self.bare, Self.committing].map { try startEcho($0, commits: $0 == Self.committing) }
    defer { for server in servers { server.stop() } }
    progress("starting ad selection, billing and the console")
    let services = try startServices()
    defer { for service in services.reversed() { service.terminate(graceMilliseconds: 10_000) } }
    func parties(round: Int) -> [RoundTrip.Party] { [echo(Self.bare), echo(Self.committing), selection(round: round)] }
    progress("warming up")
    _ = try trip(parties(round: 0), seconds: Self.warmUpSeconds).measure()
    progress("asking each alone for \(Self.secondsAlone) s")
    let alone = try parties(round: 1).map { try askAlone($0, service: services[0]) }
    progress("asking all in turn for \(Self.seconds) s")
    let stolen = StolenTime()
    let inTurn = try trip(parties(round: 2), seconds: Self.seconds).measure()
    var results = Self.results(inTurn)
    results += [
      BenchmarkResult(
        "unanswered", Double((inTurn + alone.map(\.latencies)).reduce(0) { $0 + $1.unanswered }), "requests"),
      BenchmarkResult("processors taken by the host", 100 * stolen.share, "%"),
    ]
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
      results.append(BenchmarkResult("\(name), memory", try residentMebibytes(service), "MiB"))
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
    let latencies = try trip([party], seconds: Self.secondsAlone).measure()[0]
    let answered = Double(latencies.microseconds.count)
    return Alone(
      latencies: latencies, serviceMicroseconds: service.microseconds / answered,
      postgresMicroseconds: postgres.microseconds / answered)
  }

  private static let names = ["echo", "committing echo", "ad selection"]

  /// - Parameter latencies: of the parties in the order of ``names``.
  private static func results(_ latencies: [RoundTrip.Latencies]) -> [BenchmarkResult] {
    [("p50", 0.5), ("p99", 0.99)].flatMap { name, share in
      let values = zip(names, latencies).map { ("\($0), \(name)", $1.quantile(share)) }
      return [
        BenchmarkResult(values[0].0, values[0].1, "ms"),
        BenchmarkResult(values[1].0, values[1].1, "ms", limit: values[0]),
        BenchmarkResult(values[2].0, values[2].1, "ms", limit: values[0]),
        BenchmarkResult(values[2].0, values[2].1, "ms", limit: values[1]),
      ]
    }
  }

  private static let bare = "echo"
  private static let committing = "committed"

  /// A reader that sends every record back: what the broker alone costs, or the broker and one commit.
  private func startEcho(_ name: String, commits: Bool) throws -> EchoServer {
    let admin = try KafkaAdmin(configuration: surroundings.kafkaConfiguration)
    for topic in ["\(name).requests", "\(name).responses"] {
      _ = try admin.ensure(KafkaTopicSpecification(name: topic, partitionCount: Surroundings.partitions))
    }
    admin.close()
    guard commits else { return try EchoServer(name, configuration: surroundings.kafkaConfiguration, database: nil) }
    let database = try PostgresConfiguration(surroundings.databaseURL)
    let connection = try PostgresConnection(database)
    try connection.executeScript("CREATE TABLE echo (commits bigint NOT NULL); INSERT INTO echo VALUES (0)")
    connection.close()
    return try EchoServer(name, configuration: surroundings.kafkaConfiguration, database: database)
  }

  private func trip(_ parties: [RoundTrip.Party], seconds: Int) -> RoundTrip {
    RoundTrip(
      configuration: surroundings.kafkaConfiguration, parties: parties, perSecond: Self.perSecond, seconds: seconds)
  }

  private func echo(_ name: String) -> RoundTrip.Party {
    let value = [UInt8](repeating: 1, count: 200)
    return RoundTrip.Party(requestTopic: "\(name).requests", responseTopic: "\(name).responses") { number in
      (Int32(number) % Surroundings.partitions, value, [])
    }
  }

  private func startServices() throws -> [ChildProcess] {
    let file = surroundings.folder.path + "/catalog.json"
    try Self.catalog.write(toFile: file, atomically: true, encoding: .utf8)
    try surroundings.command(["topics", "create", "-p", "\(Surroundings.partitions)", "--app", Self.app])
    try surroundings.command(["catalog", "apply", file])
    let ports = try FreePort.find(count: 4)
    let names = ["handbill-ad-selection", "handbill-billing", "handbill-console"]
    return try zip(names, ports).map { name, port in
      try surroundings.service(name, adminPort: port, settings: ["HANDBILL_CONSOLE_PORT": "\(ports[3])"])
    }
  }

  /// - Parameter round: each has clients of its own, who are not throttled.
  private func selection(round: Int) -> RoundTrip.Party {
    RoundTrip.Party(requestTopic: Topic.requests.name, responseTopic: Topic.responses.name + Self.app) { number in
      let client = "client-\(number)-\(round)"
      let id = UUIDv7(timestamp: SystemClock().now, randomHigh: 0, randomLow: UInt64(number) << 8 | UInt64(round))
      let request = Self.request(id: id, client: client)
      return (
        KafkaPartition.of(key: client, count: Surroundings.partitions), request?.encoded() ?? [],
        Workload.headers(.adRequested, id: id)
      )
    }
  }

  private static func request(id: UUIDv7, client: String) -> AdRequest? {
    guard let app = AppID(app), let placement = PlacementID("home"), let country = Country("US") else { return nil }
    return AdRequest(
      requestID: id, appKey: key, app: app, placement: placement, clientID: client, sessionID: client,
      country: country, device: .phone, requiredSizes: [], currentSize: "", isInterstitial: false,
      deadlineMilliseconds: 10_000, replyPartition: 0, replyTopic: "", correlationID: [])
  }
}
