package import AdCore
package import AdEvents
package import Pipeline

/// Billing, as the pipeline runs it: accepted events and ad selection's usage in, allotments out.
package struct BillingService: PipelineService {
  package typealias Event = BillingInput
  package typealias Decider = BillingDecider
  package typealias Query = BillingQuery
  package typealias Knowledge = BillingKnowledge
  package typealias Effects = BillingEffects
  package typealias Decoder = BillingDecoder

  package static let name = "billing"
  /// Where accepted impressions and clicks stand in ``inputs``.
  static let impressionsInput = 0
  static let clicksInput = 1
  package let inputs = [
    InputDeclaration(topic: Topic.acceptedImpressions.name, isSequenced: true),
    InputDeclaration(topic: Topic.acceptedClicks.name, isSequenced: true),
    InputDeclaration(topic: Topic.usage.name, isSequenced: true, boundsWatermark: false),
  ]
  package let outputs = [Topic.budgets.name]
  package let publishesWatermarks = false
  private static let grants = MessageMaker(topic: Topic.budgets.name, type: .allotmentGranted, source: "/billing")
  private static let refusals = MessageMaker(topic: Topic.budgets.name, type: .allotmentRefused, source: "/billing")
  private static let watermarks = MessageMaker(topic: Topic.budgets.name, type: .watermarkPassed, source: "/billing")

  package let ring: KeyRing

  package init(ring: KeyRing) { self.ring = ring }

  /// Budgets are all partitions'.
  package static func changesSharedRows(_ effects: BillingEffects) -> Bool { !effects.budgets.isEmpty }

  package static func count(_ effects: BillingEffects, into counts: inout [RevenueMinute: RevenueSums]) {
    effects.count(into: &counts)
  }

  package func makeDecoder() -> BillingDecoder { BillingDecoder() }

  package func watermarkMessage(_ watermark: Watermark, output: Int, partition: Int32) -> OutgoingMessage? {
    Self.watermarks.message(BudgetRecord.watermark(watermark), of: watermark, partition: partition)
  }

  /// The message of a grant; made again from its row it is the same.
  package static func message(_ grant: AllotmentGrant, partition: Int32, grantedAt: Timestamp) -> NumberedMessage {
    let sequence = AllotmentID.sequence(of: grant.allotment)
    return NumberedMessage(
      output: 0, sequence: sequence,
      message: grants.message(
        BudgetRecord.grant(sequence: sequence, grant), id: "\(partition)/\(sequence)", time: grantedAt,
        partition: partition, key: Array(grant.campaign.text.utf8)))
  }

  /// The answer to an ask that is not granted.
  static func message(_ refusal: AllotmentRefusal, partition: Int32, now: Timestamp) -> OutgoingMessage {
    let ask = "\(refusal.campaign)/\(refusal.budgetDay)/\(refusal.ordinal)"
    return refusals.message(
      BudgetRecord.refusal(refusal), id: "\(partition)/refusal/\(ask)/\(now.milliseconds)", time: now,
      partition: partition, key: Array(refusal.campaign.text.utf8))
  }

  /// The grant that ``message(_:partition:grantedAt:)`` was made of.
  static func grant(of message: OutgoingMessage) -> AllotmentGrant? {
    (message.value ?? []).withUnsafeBytes { bytes in
      guard case .grant(_, let grant)? = try? BudgetRecord.read(bytes, headers: RecordHeaders()) else {
        return nil
      }
      return grant
    }
  }
}

/// Reads records of billing's three inputs.
package struct BillingDecoder: RecordDecoder {
  // Which event it is, its sequence says.
  private var headers = RecordHeaders(hashesID: false)

  package mutating func begin() { headers = RecordHeaders(hashesID: false) }

  package mutating func header(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    headers.add(name: name, value: value)
  }

  package mutating func decode(
    input: Int, value: UnsafeRawBufferPointer?, arrival: Timestamp
  ) -> (event: BillingInput, sequence: RecordSequence) {
    switch UsageRecord.decode(value: value, headers: headers) {
    case .success(.ask(let ask)): (.ask(ask), .unnumbered)
    case .success(.report(let sequence, let report)): (.report(report), .number(sequence))
    case .success(.watermark(let watermark)): (.watermark, .watermark(watermark))
    case .failure(let rejection): (.rejected(rejection), .unnumbered)
    }
  }

  package mutating func decode(
    _ record: UndecodedRecord, value: UnsafeRawBufferPointer?, into batch: inout InputBatch<BillingInput>
  ) {
    switch record.input {
    case BillingService.impressionsInput:
      append(AcceptedRecords.impressions(value: value, headers: headers), of: record, to: &batch) {
        AcceptedEvent($0)
      }
    case BillingService.clicksInput:
      append(AcceptedRecords.clicks(value: value, headers: headers), of: record, to: &batch) { AcceptedEvent($0) }
    default:
      let decoded = decode(input: record.input, value: value, arrival: record.arrival)
      batch.append(InputRecord(record, sequence: decoded.sequence, event: decoded.event))
    }
  }

  private func append<Content>(
    _ decoded: Result<Sequenced<Content>, Rejection>, of record: UndecodedRecord,
    to batch: inout InputBatch<BillingInput>, _ make: (Content) -> AcceptedEvent
  ) {
    switch decoded {
    case .success(.run(let run)):
      batch.append(run.events, from: run.first, of: record) { .event(make($0)) }
    case .success(.watermark(let watermark)):
      batch.append(InputRecord(record, sequence: .watermark(watermark), event: .watermark))
    case .failure(let rejection):
      // What does not decode has no number: the hole behind it is noticed, and its events are published again.
      batch.append(InputRecord(record, sequence: .unnumbered, event: .rejected(rejection)))
    }
  }
}
