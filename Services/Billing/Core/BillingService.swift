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
  package let inputs = [
    InputDeclaration(topic: Topic.acceptedImpressions.name, isSequenced: true),
    InputDeclaration(topic: Topic.acceptedClicks.name, isSequenced: true),
    InputDeclaration(topic: Topic.usage.name, isSequenced: true),
  ]
  package let outputs = [Topic.budgets.name]
  package let publishesWatermarks = false
  private static let grants = MessageMaker(topic: Topic.budgets.name, type: .allotmentGranted, source: "/billing")
  private static let refusals = MessageMaker(topic: Topic.budgets.name, type: .allotmentRefused, source: "/billing")
  private static let watermarks = MessageMaker(topic: Topic.budgets.name, type: .watermarkPassed, source: "/billing")

  package init() {}

  package static func count(_ effects: BillingEffects, into counts: inout [RevenueMinute: RevenueSums]) {
    effects.count(into: &counts)
  }

  package func makeDecoder() -> BillingDecoder { BillingDecoder() }

  package func watermarkMessage(_ watermark: Watermark, output: Int, partition: Int32) -> OutgoingMessage? {
    Self.watermarks.message(
      BudgetRecord.watermark(watermark),
      id: "\(partition)/watermark/\(watermark.time.milliseconds)/\(watermark.sequence)", time: watermark.time,
      partition: partition, key: nil)
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
  private var headers = RecordHeaders()

  package mutating func begin() { headers = RecordHeaders() }

  package mutating func header(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    headers.add(name: name, value: value)
  }

  package mutating func decode(
    input: Int, value: UnsafeRawBufferPointer?, arrival: Timestamp
  ) -> (event: BillingInput, mark: SequenceMark) {
    switch input {
    case 0: event(Sequenced<AcceptedImpression>.decode(value: value, headers: headers)) { AcceptedEvent($0) }
    case 1: event(Sequenced<AcceptedClick>.decode(value: value, headers: headers)) { AcceptedEvent($0) }
    default: usage(UsageRecord.decode(value: value, headers: headers))
    }
  }

  private func event<Content>(
    _ decoded: Result<Sequenced<Content>, Rejection>, _ make: (Content) -> AcceptedEvent
  ) -> (event: BillingInput, mark: SequenceMark) {
    switch decoded {
    case .success(.record(let sequence, let content)): (.event(make(content)), .number(sequence))
    case .success(.watermark(let watermark)): (.watermark, .watermark(watermark))
    case .failure(let rejection): (.rejected(rejection), .unnumbered)
    }
  }

  private func usage(_ decoded: Result<UsageRecord, Rejection>) -> (event: BillingInput, mark: SequenceMark) {
    switch decoded {
    case .success(.ask(let ask)): (.ask(ask), .unnumbered)
    case .success(.report(let sequence, let report)): (.report(report), .number(sequence))
    case .success(.watermark(let watermark)): (.watermark, .watermark(watermark))
    case .failure(let rejection): (.rejected(rejection), .unnumbered)
    }
  }
}
