import AdCore
import AdEvents
import Foundation
import Kafka
import Postgres
import Runtime
import Supervision
import Synchronization

/// The time from request to response through Kafka, of ad selection and, beside it, of a bare echo and of an echo that
/// commits one changed row before it answers: what nothing that keeps its decisions can do without.
struct SelectionBenchmark {
  let surroundings: Surroundings
  static let perSecond = 200
  /// Echoes and ad selection take short turns, so that the machine's moods meet all of them.
  static let rounds = 12
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
    var echo = RoundTrip.Latencies(microseconds: [], unanswered: 0)
    var committed = echo
    var selection = echo
    for round in 1...Self.rounds {
      progress("measuring, round \(round) of \(Self.rounds)")
      echo.add(try echoTrip(Self.bare, seconds: Self.seconds).measure())
      committed.add(try echoTrip(Self.committing, seconds: Self.seconds).measure())
      selection.add(try selectionTrip(round: round, seconds: Self.seconds).measure())
    }
    var results: [BenchmarkResult] = []
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
      let bare = ("echo, \(name)", echo.quantile(share))
      let committing = ("committing echo, \(name)", committed.quantile(share))
      results += [
        BenchmarkResult(bare.0, bare.1, "ms"), BenchmarkResult(committing.0, committing.1, "ms", limit: bare),
        BenchmarkResult("ad selection, \(name)", selection.quantile(share), "ms", limit: bare),
        BenchmarkResult("ad selection, \(name)", selection.quantile(share), "ms", limit: committing),
      ]
    }
    results.append(BenchmarkResult("ad selection, unanswered", Double(selection.unanswered), "requests"))
    for (name, service) in zip(["ad selection", "billing", "console"], services) {
      results.append(BenchmarkResult("\(name), memory", try residentMebibytes(service), "MiB"))
    }
    return results
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

/// Sends each record's correlation id and value back, as fast as Kafka goes, and the database where there is one.
final class EchoServer: Sendable {
  private let isStopping: StopFlag
  private let thread: OwnerThread

  /// - Parameter database: where a row is changed, and the change committed, before records read together are answered.
  init(_ name: String, configuration: KafkaConfiguration, database: PostgresConfiguration?) throws {
    var sending = configuration
    sending.lingerMilliseconds = 0
    let producer = try KafkaProducer(configuration: sending) { _ in }
    try producer.warmUp(topics: ["\(name).responses"], timeoutMilliseconds: 5_000)
    let stopping = StopFlag()
    isStopping = stopping
    thread = OwnerThread(name) {
      guard let consumer = try? KafkaConsumer(configuration: configuration, groupID: nil, topics: []) else { return }
      let connection = database.flatMap { try? PostgresConnection($0) }
      if database != nil, connection == nil { return }
      try? consumer.assign(
        (0..<Surroundings.partitions).map {
          KafkaTopicPartitionOffset(topic: "\(name).requests", partition: $0, offset: KafkaTopicPartitionOffset.end)
        })
      while !stopping.isSet {
        var answers: [(value: [UInt8], headers: [KafkaHeader])] = []
        _ = try? consumer.poll(timeoutMilliseconds: 100, recordsMaximum: 1_000) { record in
          var headers: [KafkaHeader] = []
          record.forEachHeader { headers.append(KafkaHeader(name: Array($0), value: $1.map { Array($0) })) }
          answers.append((record.value.map { Array($0) } ?? [], headers))
        }
        let update = "UPDATE echo SET commits = commits + 1"
        if !answers.isEmpty, let connection, (try? connection.pipeline { $0.send(prepared: update, []) }) == nil {
          continue
        }
        for answer in answers {
          try? producer.send(
            topic: "\(name).responses", partition: 0, key: nil, value: answer.value, headers: answer.headers,
            reportID: 0)
        }
      }
      consumer.close(timeoutMilliseconds: 1_000)
      producer.close(timeoutMilliseconds: 1_000)
      connection?.close()
    }
  }

  func stop() {
    isStopping.set()
    thread.join()
  }
}

/// A flag that is set once.
final class StopFlag: Sendable {
  private let flag = Atomic(false)
  var isSet: Bool { flag.load(ordering: .relaxed) }
  func set() { flag.store(true, ordering: .relaxed) }
}
