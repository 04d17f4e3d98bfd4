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
  static let perSecond = 200
  /// Echoes and ad selection take short turns, so that the machine's moods meet all of them. The half of the rounds
  /// counts in which the host of a virtual machine took least of the processors for others: what it takes is no
  /// party's doing, and it hits the longest way most.
  static let rounds = 24
  static let seconds = 3
  /// So long the same is done before each measurement: the broker's compiler takes a good part of two cores until then.
  static let warmUpSeconds = 30
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
    progress("warming up")
    _ = try echoTrip(Self.bare, seconds: Self.warmUpSeconds).measure()
    _ = try selectionTrip(round: 0, seconds: Self.warmUpSeconds).measure()
    var rounds: [Round] = []
    for number in 1...Self.rounds {
      let round = try round(number, service: services[0])
      progress("round \(number) of \(Self.rounds): \(round.summary)")
      rounds.append(round)
    }
    var results = Self.results(of: rounds.sorted { $0.stolenShare < $1.stolenShare }.prefix(Self.rounds / 2))
    for (name, service) in zip(["ad selection", "billing", "console"], services) {
      results.append(BenchmarkResult("\(name), memory", try residentMebibytes(service), "MiB"))
    }
    return results
  }

  private func round(_ number: Int, service: ChildProcess) throws -> Round {
    func measure(_ trip: RoundTrip) throws -> Trip {
      try Trip(of: trip, postgres: surroundings.postgres.processIdentifier, service: service.processIdentifier)
    }
    return Round(
      echo: try measure(echoTrip(Self.bare, seconds: Self.seconds)),
      committed: try measure(echoTrip(Self.committing, seconds: Self.seconds)),
      selection: try measure(selectionTrip(round: number, seconds: Self.seconds)))
  }

  private static func results(of rounds: ArraySlice<Round>) -> [BenchmarkResult] {
    let echo = Trip(rounds.map(\.echo))
    let committed = Trip(rounds.map(\.committed))
    let selection = Trip(rounds.map(\.selection))
    var results: [BenchmarkResult] = []
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
      let bare = ("echo, \(name)", echo.latencies.quantile(share))
      let committing = ("committing echo, \(name)", committed.latencies.quantile(share))
      let selected = selection.latencies.quantile(share)
      results += [
        BenchmarkResult(bare.0, bare.1, "ms"), BenchmarkResult(committing.0, committing.1, "ms", limit: bare),
        BenchmarkResult("ad selection, \(name)", selected, "ms", limit: bare),
        BenchmarkResult("ad selection, \(name)", selected, "ms", limit: committing),
      ]
    }
    let committing = ("committing echo", committed.perRequest(committed.postgresMicroseconds))
    return results + [
      BenchmarkResult("ad selection, unanswered", Double(selection.latencies.unanswered), "requests"),
      BenchmarkResult(
        "ad selection, processor time", selection.perRequest(selection.serviceMicroseconds), "us/request"),
      BenchmarkResult(
        "ad selection, processor time of PostgreSQL", selection.perRequest(selection.postgresMicroseconds),
        "us/request", limit: committing),
      BenchmarkResult("processors taken by the host", 100 * (rounds.map(\.stolenShare).max() ?? 0), "% at most"),
    ]
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

  private func echoTrip(_ name: String, seconds: Int) -> RoundTrip {
    let value = [UInt8](repeating: 1, count: 200)
    return RoundTrip(
      configuration: surroundings.kafkaConfiguration, requestTopic: "\(name).requests",
      responseTopic: "\(name).responses", perSecond: Self.perSecond, seconds: seconds
    ) { number in (Int32(number) % Surroundings.partitions, value, []) }
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
  private func selectionTrip(round: Int, seconds: Int) -> RoundTrip {
    RoundTrip(
      configuration: surroundings.kafkaConfiguration, requestTopic: Topic.requests.name,
      responseTopic: Topic.responses.name + Self.app, perSecond: Self.perSecond, seconds: seconds
    ) { number in
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
