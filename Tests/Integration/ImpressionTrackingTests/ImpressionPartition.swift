import AdCore
import AdEvents
import ImpressionTrackingCore
import Pipeline
import PipelineHost
import Postgres
import Runtime
import TestServers
import TestServices
import TestValues
import Testing

@testable import ImpressionTracking

/// One partition of impression tracking over a database of its own.
final class ImpressionPartition {
  static let number: Int32 = 7
  static let liveKey = [UInt8](repeating: 0xa1, count: 32)
  static let testKey = [UInt8](repeating: 0xa2, count: 32)
  let start: Timestamp
  let connection: PostgresConnection
  /// The partition as others reach it, without any proxy.
  let plan: StoredPartition<ImpressionTables>.Plan
  var published: Publications { stored.published }
  private let clock: MovingClock
  private let stored: StoredPartition<ImpressionTables>

  /// - Parameter proxy: the way to the database; nil for the straight one.
  init(through proxy: PostgresProxy? = nil) async throws {
    // The tables of days reach two days back from today.
    start = Timestamp(milliseconds: SystemClock().now.milliseconds / 60_000 * 60_000)
    clock = MovingClock(start)
    let service = ImpressionTrackingCore.ImpressionTracking(
      ring: try KeyRing(keys: [KeyRing.Key(id: 1, secret: Array(repeating: 7, count: 32))]), windows: Windows())
    plan = StoredPartition.Plan(
      number: Self.number, service: service, tables: ImpressionTables(windows: Windows()),
      database: try await TestDatabase.configuration(), clock: clock)
    connection = try PostgresConnection(plan.database)
    for (hash, build) in [(Self.liveKey, "distribution"), (Self.testKey, "developer")] {
      try connection.execute(
        sql: """
          INSERT INTO catalog.record (key, kind, body, version, change_number)
          SELECT 'app-key/weather/\(build)', 'app-key', jsonb_build_object('app', 'weather', 'build', '\(build)',
            'keyHash', '\(hash.map { String($0, radix: 16) }.joined())', 'isRevoked', false), 1, nextval('catalog.change_number')
          """)
    }
    var proxied = plan
    if let proxy {
      let name: String = try #require(try connection.query("SELECT current_database()").first).decode(0)
      proxied.database = try PostgresConfiguration(proxy.url(database: name), applicationName: "test")
    }
    stored = try StoredPartition(proxied)
  }

  /// The same owner opens the partition again after a failure.
  ///
  /// - Parameter seenEpoch: the epoch with which it was seen to be free; without it only its owner may.
  /// - Returns: the offset at which it reads on; what lies behind it is to be given again.
  func reopen(seenEpoch: Int64 = 0) throws -> Int64 {
    try stored.reopen(seenEpoch: seenEpoch)
    return stored.offsets[0]
  }

  /// Another owner takes the partition over, at this time by its clock.
  func takeOver(at time: Timestamp? = nil) throws {
    if let time { clock.set(time) }
    try stored.takeOver()
  }

  /// What the last record of each topic tells whoever opens the partition next.
  var lastMarks: [String: TimelineMark] {
    get { stored.lastMarks }
    set { stored.lastMarks = newValue }
  }

  /// What was committed by now, and what its owner remembers of it when he opens it again.
  var committed: CommittedBatch? { stored.committed }
  func remember(_ batch: CommittedBatch?) { stored.earlier = batch }

  /// Time passes and nothing arrives.
  func later(seconds: Int64) throws {
    clock.advance(byMilliseconds: seconds * 1_000)
    try stored.tick()
  }

  /// Decides and commits one batch.
  @discardableResult
  func run(_ events: [ImpressionInput]) throws -> BatchSummary {
    try stored.process(
      events.map { (0, $0, .unnumbered) }, arrival: start.advanced(byMilliseconds: 2_000))
  }

  /// An event of the serve with this number, one second after its decision.
  ///
  /// - Parameter hoursAgo: so long before the partition's start it was decided.
  func event(
    _ kind: ImpressionEvent.Kind, _ serve: UInt64, error: AdError? = nil, campaign: String = "summer",
    partition: Int32 = number, hoursAgo: Int64 = 0
  ) throws -> ImpressionInput {
    let issuedAt = start.advanced(byMilliseconds: -hoursAgo * 3_600_000)
    let terms = try ServedTerms.sample(serve: serve, partition: partition, issuedAt: issuedAt) {
      ($0.campaign, $0.clickPrice) = (try #require(CampaignID(campaign)), Nanos(0))
    }
    return .event(ServedEvent(kind: kind, terms: terms, age: .milliseconds(1_000), claimedTime: nil, error: error))
  }

  /// A failure without an ad.
  func failure(_ request: UInt64, key: [UInt8] = liveKey) throws -> ImpressionInput {
    .failure(
      RequestFailure(
        requestID: UUIDv7(timestamp: start, randomHigh: 2, randomLow: request), keyHash: key,
        app: try #require(AppID("weather")),
        placement: try #require(PlacementID("home")), error: .applicationInactive))
  }

  /// The last part of each accepted impression's serve id, in order.
  func impressions() throws -> [Int64] {
    try connection.query("SELECT serve_id FROM impression_tracking.impression").map { row in
      Int64(try row.decode(0, PostgresUUID.self).low & 0xFFFF)
    }.sorted()
  }

  /// How many batches were committed.
  func batches() throws -> Int64 {
    try #require(try connection.query("SELECT count(*) FROM impression_tracking.batch").first).decode(0)
  }

  /// That of its owner.
  func epoch() throws -> Int64 {
    try #require(
      try connection.query("SELECT epoch FROM impression_tracking.partition WHERE partition = $1", [Self.number]).first
    ).decode(0)
  }

  /// Has everything written that is counted.
  func writeCounts() throws { try stored.writeAllCounts() }

  /// Kind, error, campaign and number of events of each count, in order.
  func counts() throws -> [String] {
    try connection.query(
      """
      SELECT concat_ws(' ', kind, error, campaign, sum(events)) FROM impression_tracking.all_count
      GROUP BY kind, error, campaign ORDER BY kind, error, campaign
      """
    ).map { try $0.decode(0, String.self) }
  }
}

extension Publications {
  /// What of `ads.impressions.accepted` was published: sequences, and ranges that are lost.
  var acceptedImpressions: [String] {
    messages.flatMap { message in
      var headers = RecordHeaders()
      for header in message.headers {
        headers.add(header)
      }
      let record = (message.value ?? []).withUnsafeBytes {
        Sequenced<AcceptedImpression>.decode(value: $0, headers: headers)
      }
      return switch record {
      case .success(.run(let run)): run.sequences.map { "\($0)" }
      case .success(.watermark(let mark)): ["lost \(mark.firstLostSequence)-\(mark.sequence)"]
      case .failure(let rejection): ["\(rejection)"]
      }
    }
  }
}
