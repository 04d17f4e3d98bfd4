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

@Suite struct CountsTests {
  @Test("M6: counts that no table has yet are counted again, from the rows, by the partition's next owner")
  func countsOfTheNextOwner() async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1), partition.event(.viewed, 2), partition.event(.viewed, 2)])
    try partition.run([partition.event(.rendered, 1), partition.event(.failed, 3, error: .serverFailure)])
    try partition.run([partition.failure(4)])
    #expect(try partition.counts() == [])
    try partition.takeOver()
    try partition.run([partition.event(.viewed, 5)])
    try partition.later(seconds: 11)
    let counts = ["1 -1 summer 1", "2 -1 summer 3", "4 1 summer 1", "4 6  1"]
    #expect(try partition.counts() == counts)
    try partition.takeOver()
    try partition.later(seconds: 11)
    #expect(try partition.counts() == counts)
  }

  @Test("M6: events of a minute that was written before are added to its counts")
  func countsAreAdded() async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1)])
    try partition.later(seconds: 11)
    try partition.run([partition.event(.viewed, 2)])
    try partition.later(seconds: 11)
    #expect(try partition.counts() == ["2 -1 summer 2"])
  }
}

/// One partition of impression tracking over a real database, its log in memory.
final class ImpressionPartition {
  /// The database, without any proxy.
  let databaseURL: String
  let start: Timestamp
  let connection: PostgresConnection
  let writer = Publications()
  private let clock: MovingClock
  private var database: PostgresConfiguration
  private var pipeline: PartitionPipeline<PostgresPipelineStore<ImpressionTables>, Publications>
  private var offset: Int64 = 0

  /// - Parameter proxy: the way to the database; nil for the straight one.
  init(through proxy: PostgresProxy? = nil) async throws {
    databaseURL = try await TestDatabase.url()
    database = try PostgresConfiguration(databaseURL, applicationName: "test")
    connection = try PostgresConnection(database)
    if let proxy {
      let name: String = try #require(try connection.query("SELECT current_database()").first).decode(0)
      database = try PostgresConfiguration(proxy.url(database: name), applicationName: "test")
    }
    // The tables of days reach two days back from today.
    start = Timestamp(milliseconds: SystemClock().now.milliseconds / 60_000 * 60_000)
    clock = MovingClock(start)
    pipeline = try Self.makePipeline(database, clock: clock, writer: writer)
    try open()
  }

  static let number: Int32 = 7

  static func service() throws -> ImpressionTrackingCore.ImpressionTracking {
    try ImpressionTrackingCore.ImpressionTracking(
      ring: try KeyRing(keys: [KeyRing.Key(id: 1, secret: Array(repeating: 7, count: 32))]), windows: Windows())
  }

  static func makeStore(
    _ service: ImpressionTrackingCore.ImpressionTracking, _ database: PostgresConfiguration
  ) -> PostgresPipelineStore<ImpressionTables> {
    PostgresPipelineStore(tables: ImpressionTables(windows: Windows()), service: service, configuration: database)
  }

  private static func makePipeline(
    _ database: PostgresConfiguration, clock: MovingClock, writer: Publications
  ) throws -> PartitionPipeline<PostgresPipelineStore<ImpressionTables>, Publications> {
    let service = try service()
    return PartitionPipeline(
      service: service, partition: number, partitionCount: 12, store: makeStore(service, database), writer: writer,
      clock: clock)
  }

  @discardableResult
  private func open(seenEpoch: Int64 = 0) throws -> Int64 {
    let end = offset
    return try pipeline.open(by: PartitionClaim(owner: 1, seenEpoch: seenEpoch)) { lastOffsets in
      lastOffsets.map { lastOffset in
        LogProbe(
          firstOffset: 0, endOffset: end,
          record: lastOffset.map { RecordIdentity(offset: $0, timestamp: 1, contentHash: 0) })
      }
    }[0]
  }

  /// The same owner opens the partition again after a failure.
  ///
  /// - Parameter seenEpoch: the epoch with which it was seen to be free; without it only its owner may.
  /// - Returns: the offset at which it reads on; what lies behind it is to be given again.
  func reopen(seenEpoch: Int64 = 0) throws -> Int64 {
    let next = try open(seenEpoch: seenEpoch)
    offset = next
    return next
  }

  /// Another owner takes the partition over.
  func takeOver() throws {
    pipeline = try Self.makePipeline(database, clock: clock, writer: writer)
    try open()
  }

  /// Another owner takes the partition over, at this time by its clock.
  func takeOver(at time: Timestamp) throws {
    clock.set(time)
    try takeOver()
  }

  /// Time passes and nothing arrives.
  func later(seconds: Int64) throws {
    clock.advance(byMilliseconds: seconds * 1_000)
    _ = try pipeline.tick()
  }

  /// Decides and commits one batch.
  @discardableResult
  func run(_ events: [ImpressionInput]) throws -> BatchSummary {
    var batch = InputBatch<ImpressionInput>(inputCount: 1)
    for event in events {
      batch.append(
        InputRecord(
          input: 0, offset: offset, timestamp: 1, arrival: start.advanced(byMilliseconds: 2_000), mark: .unnumbered,
          event: event, contentHash: 0,
          raw: RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0)))
      offset += 1
    }
    return try pipeline.process(batch)
  }

  /// An event of the serve with this number, one second after its decision.
  func event(_ kind: ImpressionEvent.Kind, _ serve: UInt64, error: AdError? = nil) throws -> ImpressionInput {
    let terms = try ServedTerms.sample(serve: serve, partition: Self.number, issuedAt: start) {
      ($0.campaign, $0.clickPrice) = (try #require(CampaignID("summer")), Nanos(0))
    }
    return .event(ServedEvent(kind: kind, terms: terms, age: .milliseconds(1_000), claimedTime: nil, error: error))
  }

  /// A failure without an ad.
  func failure(_ request: UInt64) throws -> ImpressionInput {
    .failure(
      RequestFailure(
        requestID: UUIDv7(timestamp: start, randomHigh: 2, randomLow: request), app: try #require(AppID("weather")),
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

  /// Kind, error, campaign and number of events of each count, in order.
  func counts() throws -> [String] {
    try connection.query(
      """
      SELECT concat_ws(' ', kind, error, campaign, events) FROM impression_tracking.minute_count
      ORDER BY kind, error, campaign
      """
    ).map { try $0.decode(0, String.self) }
  }
}

extension Publications {
  /// What of `ads.impressions.accepted` was published: sequences, and ranges that are lost.
  var published: [String] {
    messages.map { message in
      var headers = RecordHeaders()
      for header in message.headers {
        header.name.withUnsafeBytes { name in header.value.withUnsafeBytes { headers.add(name: name, value: $0) } }
      }
      let record = (message.value ?? []).withUnsafeBytes {
        Sequenced<AcceptedImpression>.decode(value: $0, headers: headers)
      }
      return switch record {
      case .success(.record(let sequence, _)): "\(sequence)"
      case .success(.watermark(let mark)): "lost \(mark.firstLostSequence)-\(mark.sequence)"
      case .failure(let rejection): "\(rejection)"
      }
    }
  }
}
