import AdCore
import AdEvents
import AdSelectionCore
import Pipeline
import Postgres
import Runtime
import TestValues
import Testing

@testable import AdSelection
@testable import PipelineHost

/// A partition on a real database, without a broker: its only one, so that every request belongs to it.
final class StoredPartition {
  typealias Pipeline = PartitionPipeline<PostgresPipelineStore<SelectionTables>, Publications>

  let network: Network
  let clock: SetClock
  let published = Publications()
  let catalog = CatalogSource()
  let metrics = MetricsRegistry(SelectionMetrics.declarations)
  let database: PostgresConnection
  private let configuration: PostgresConfiguration
  private let service: AdSelection
  private(set) var pipeline: Pipeline
  private var offsets: [Int64] = [0, 0]
  private var lastTimestamps: [Int64] = [0, 0]

  init(_ configuration: PostgresConfiguration) throws {
    network = try Network()
    // The tables of days are made around today.
    clock = SetClock(SystemClock().now)
    self.configuration = configuration
    database = try PostgresConnection(configuration)
    service = try AdSelection(ring: network.ring)
    pipeline = StoredPartition.makePipeline(service, network, catalog, clock, metrics, configuration, published)
    try beat()
    try open()
  }

  private static func makePipeline(
    _ service: AdSelection, _ network: Network, _ catalog: CatalogSource, _ clock: SetClock,
    _ metrics: MetricsRegistry, _ configuration: PostgresConfiguration, _ published: Publications
  ) -> Pipeline {
    let tables = SelectionTables(
      ring: network.ring, catalog: catalog, settings: SelectionSettings(),
      metrics: SelectionMetrics(registry: metrics, clock: clock), retentionDays: 400)
    return Pipeline(
      service: service, partition: 0, partitionCount: 1,
      store: PostgresPipelineStore(tables: tables, service: service, configuration: configuration),
      writer: published, clock: PipelineTime(clock: clock))
  }

  /// The catalogue with its heartbeat.
  func beat() throws {
    let records = try network.records
    catalog.apply(
      records.map { .message(.record($0, version: 1)) } + [
        .message(.heartbeat(records: Int64(records.count), versionSum: Int64(records.count), at: clock.now))
      ], now: clock.now)
  }

  /// Another process takes the partition over.
  func restart() throws {
    pipeline = StoredPartition.makePipeline(service, network, catalog, clock, metrics, configuration, published)
    try open()
  }

  /// So long nothing comes that all counts are written.
  func rest() throws {
    clock.advance(byMilliseconds: 11_000)
    try beat()
    _ = try pipeline.tick()
  }

  private func open() throws {
    let ends = offsets
    let timestamps = lastTimestamps
    // The logs are as they were: the last record is still there.
    _ = try pipeline.open(by: PartitionClaim(owner: 1, seenEpoch: 0)) { lastOffsets in
      lastOffsets.enumerated().map { input, last in
        LogProbe(
          firstOffset: 0, endOffset: ends[input],
          record: last.map { RecordIdentity(offset: $0, timestamp: timestamps[input], contentHash: UInt64($0)) })
      }
    }
  }

  var budgetDay: Int32 {
    BudgetCalendar(timeZone: "Europe/Berlin")?.day(of: clock.now).number ?? 0
  }

  /// Decides one batch of requests; what was answered.
  ///
  /// - Parameters:
  ///   - arrival: when they came; nil for now.
  ///   - isJSON: they are asked in JSON, and must be answered so.
  ///   - append: adds to the bytes of each: of two values of one field the later counts.
  func ask(
    _ requests: [AdRequest], arrival: Timestamp? = nil, isJSON: Bool = false,
    append: (inout WireWriter) -> Void = { _ in }
  ) throws -> [AdResponse] {
    let messages = try requests.map { request in
      var writer = WireWriter(output: request.encoded())
      append(&writer)
      let value = isJSON ? Array(try request.json().get().utf8) : writer.output
      return incoming(request, value: value, contentType: ClientHeaders.contentType(isJSON: isJSON))
    }
    try process(messages.map { (input: 0, message: $0) }, arrival: arrival)
    let answers = published.take("ads.responses.")
    #expect(answers.allSatisfy { $0.headers.contains(ClientHeaders.contentType(isJSON: isJSON)) })
    return try answers.map(StoredPartition.response)
  }

  func grant(_ grants: [(sequence: Int64, grant: AllotmentGrant)]) throws {
    try process(grants.map { (input: 1, message: (.grant($0.grant), .number($0.sequence))) })
  }

  private func process(
    _ events: [(input: Int, message: (SelectionInput, SequenceMark))], arrival: Timestamp? = nil
  ) throws {
    var batch = InputBatch<SelectionInput>(inputCount: 2)
    let arrival = arrival ?? clock.now
    for event in events {
      lastTimestamps[event.input] = arrival.milliseconds
      batch.raw.begin(key: nil, value: nil)
      batch.append(
        InputRecord(
          input: event.input, offset: offsets[event.input], timestamp: arrival.milliseconds, arrival: arrival,
          mark: event.message.1, event: event.message.0, contentHash: UInt64(offsets[event.input]),
          raw: batch.raw.finish()))
      offsets[event.input] += 1
    }
    _ = try pipeline.process(batch)
  }

  /// A request on its way through the wire format and the service's own decoder.
  private func incoming(
    _ request: AdRequest, value: [UInt8], contentType: RecordHeader
  ) -> (SelectionInput, SequenceMark) {
    var decoder = service.makeDecoder()
    decoder.begin()
    var headers = ClientHeaders.cloudEvent(of: request, id: request.requestID.description)
    headers += [
      contentType, RecordHeader("kafka_replyTopic", Array(request.replyTopic.utf8)),
      RecordHeader("kafka_replyPartition", withUnsafeBytes(of: request.replyPartition.bigEndian) { Array($0) }),
      RecordHeader("kafka_correlationId", request.correlationID),
    ]
    for header in headers {
      header.name.withUnsafeBytes { name in header.value.withUnsafeBytes { decoder.header(name: name, value: $0) } }
    }
    return value.withUnsafeBytes { decoder.decode(input: 0, value: $0, arrival: clock.now) }
  }

  private static func response(_ message: OutgoingMessage) throws -> AdResponse {
    try ClientHeaders.decode(AdResponse.self, message)
  }
}

/// Envelopes as a client writes and reads them.
enum ClientHeaders {
  static func contentType(isJSON: Bool) -> RecordHeader {
    RecordHeader("content-type", Array((isJSON ? "application/json" : "application/protobuf").utf8))
  }

  static func cloudEvent(of message: some EventMessage, id: String) -> [RecordHeader] {
    [
      contentType(isJSON: false),
      RecordHeader("ce_specversion", Array("1.0".utf8)),
      RecordHeader("ce_type", message.eventType.name.withUTF8Buffer { Array($0) }),
      RecordHeader("ce_source", Array("/test".utf8)), RecordHeader("ce_id", Array(id.utf8)),
    ]
  }

  static func decode<Message: EventMessage>(_: Message.Type, _ message: OutgoingMessage) throws -> Message {
    var headers = RecordHeaders()
    for header in message.headers {
      header.name.withUnsafeBytes { name in header.value.withUnsafeBytes { headers.add(name: name, value: $0) } }
    }
    return try (message.value ?? []).withUnsafeBytes { try Message.decode(value: $0, headers: headers).get() }
  }
}
