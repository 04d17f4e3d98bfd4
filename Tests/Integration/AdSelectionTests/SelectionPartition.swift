import AdCore
import AdEvents
import AdSelectionCore
import JSON
import Pipeline
import Postgres
import Records
import Runtime
import TestServices
import TestValues
import Testing

@testable import AdSelection
@testable import PipelineHost

/// A partition of ad selection on a real database: its only one, so that every request belongs to it.
final class SelectionPartition {
  let network: Network
  let clock: MovingClock
  let catalog = CatalogSource()
  let metrics = MetricsRegistry(SelectionMetrics.declarations)
  let database: PostgresConnection
  var published: Publications { stored.published }
  private let service: AdSelection
  private let stored: StoredPartition<SelectionTables>

  init() async throws {
    network = try Network()
    // The tables of days are made around today.
    clock = MovingClock(SystemClock().now)
    service = try AdSelection(ring: network.ring)
    let tables = SelectionTables(
      ring: network.ring, catalog: catalog, settings: SelectionSettings(), clickRates: ClickRates(),
      metrics: SelectionMetrics(registry: metrics, clock: clock), retentionDays: 400)
    let plan = StoredPartition.Plan(
      number: 0, of: 1, service: service, tables: tables, database: try await TestDatabase.configuration(), clock: clock
    )
    database = try PostgresConnection(plan.database)
    try network.beat(catalog, at: clock.now)
    stored = try StoredPartition(plan)
  }

  /// The catalogue with its heartbeat.
  func beat() throws { try network.beat(catalog, at: clock.now) }

  /// Another process takes the partition over.
  func restart() throws { try stored.takeOver() }

  /// So long nothing comes that all counts are written.
  func rest() throws {
    clock.advance(byMilliseconds: 11_000)
    try beat()
    try tick()
  }

  func tick() throws { try stored.tick() }

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
    let records = try requests.map { request in
      var writer = WireWriter(output: request.encoded())
      append(&writer)
      let value = isJSON ? Array(try request.json().get().compactText.utf8) : writer.output
      return try incoming(request, value: value, contentType: ClientHeaders.contentType(isJSON: isJSON))
    }
    try stored.process(records, arrival: arrival)
    let answers = published.take("ads.responses.")
    #expect(answers.allSatisfy { $0.headers.contains(ClientHeaders.contentType(isJSON: isJSON)) })
    return try answers.map { try ClientHeaders.decode(AdResponse.self, $0) }
  }

  func grant(_ grants: [(sequence: Int64, grant: AllotmentGrant)]) throws {
    try stored.process(grants.map { (1, .grant($0.grant), .number($0.sequence)) })
  }

  /// A request on its way through the wire format and the service's own decoder.
  private func incoming(
    _ request: AdRequest, value: [UInt8], contentType: RecordHeader
  ) throws -> StoredPartition<SelectionTables>.Incoming {
    var decoder = try service.makeDecoder()
    decoder.begin()
    var headers = ClientHeaders.cloudEvent(of: request, id: request.requestID.description)
    headers += [
      contentType, RecordHeader("kafka_replyTopic", request.replyTopic),
      RecordHeader("kafka_replyPartition", withUnsafeBytes(of: request.replyPartition.bigEndian) { Array($0) }),
      RecordHeader("kafka_correlationId", request.correlationID),
    ]
    for header in headers {
      header.withUnsafeBytes { decoder.header(name: $0, value: $1) }
    }
    let (event, sequence) = value.withUnsafeBytes { decoder.decode(input: 0, value: $0, arrival: clock.now) }
    return (0, event, sequence)
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
      RecordHeader("ce_specversion", "1.0"),
      RecordHeader("ce_type", "\(message.eventType.name)"),
      RecordHeader("ce_source", "/test"), RecordHeader("ce_id", id),
    ]
  }

  static func decode<Message: EventMessage>(_: Message.Type, _ message: OutgoingMessage) throws -> Message {
    var headers = RecordHeaders()
    for header in message.headers {
      headers.add(header)
    }
    return try (message.value ?? []).withUnsafeBytes { try Message.decode(value: $0, headers: headers).get() }
  }
}
