import AdCore
import AdEvents
import Foundation
import Kafka
import Postgres
import Runtime
import Supervision

/// The time from request to response through Kafka, of ad selection and, beside it, of a bare echo and of an echo that
/// commits one changed row before it answers: what nothing that keeps its decisions can do without.
struct SelectionBenchmark {
  let surroundings: Surroundings
  /// Of all parties together.
  static let perSecond = 200
  static let seconds = 120
  /// So long each party is asked alone before: the broker's compiler takes a good part of two cores until then.
  static let secondsAlone = 30
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
    progress("warming up, and what a request costs: each alone, \(Self.secondsAlone) s")
    _ = try trip([echo(Self.bare)], seconds: Self.secondsAlone).measure()
    let committed = try cost(of: echo(Self.committing), service: services[0])
    let selected = try cost(of: selection(round: 0), service: services[0])
    progress("asking all in turn for \(Self.seconds) s")
    let stolen = StolenTime()
    let parties = [echo(Self.bare), echo(Self.committing), selection(round: 1)]
    var results = Self.results(try trip(parties, seconds: Self.seconds).measure())
    results += [
      BenchmarkResult("processors taken by the host", 100 * stolen.share, "%"),
      BenchmarkResult("ad selection, processor time", selected.service, "us/request"),
      BenchmarkResult(
        "ad selection, processor time of PostgreSQL", selected.postgres, "us/request",
        limit: ("committing echo", committed.postgres)),
    ]
    for (name, service) in zip(["ad selection", "billing", "console"], services) {
      results.append(BenchmarkResult("\(name), memory", try residentMebibytes(service), "MiB"))
    }
    return results
  }

  /// The processor time of a request to `party`, in microseconds.
  private func cost(of party: RoundTrip.Party, service: ChildProcess) throws -> (service: Double, postgres: Double) {
    let times = [service.processIdentifier, surroundings.postgres.processIdentifier ?? 0].map { ProcessorTime($0) }
    let answered = try trip([party], seconds: Self.secondsAlone).measure()[0].microseconds.count
    let costs = times.map { $0.microseconds / Double(answered) }
    return (costs[0], costs[1])
  }

  /// - Parameter latencies: of the echo, of the committing echo and of ad selection.
  private static func results(_ latencies: [RoundTrip.Latencies]) -> [BenchmarkResult] {
    var results: [BenchmarkResult] = []
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
      let bare = ("echo, \(name)", latencies[0].quantile(share))
      let committing = ("committing echo, \(name)", latencies[1].quantile(share))
      let selected = latencies[2].quantile(share)
      results += [
        BenchmarkResult(bare.0, bare.1, "ms"), BenchmarkResult(committing.0, committing.1, "ms", limit: bare),
        BenchmarkResult("ad selection, \(name)", selected, "ms", limit: bare),
        BenchmarkResult("ad selection, \(name)", selected, "ms", limit: committing),
      ]
    }
    return results + [BenchmarkResult("ad selection, unanswered", Double(latencies[2].unanswered), "requests")]
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
