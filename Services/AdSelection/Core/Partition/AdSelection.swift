package import AdCore
package import AdEvents
package import Crypto
package import Pipeline

/// Ad selection, as the pipeline runs it: `ads.requests` and `ads.budgets` in, `ads.usage` and the apps' answers out.
package struct AdSelection: PipelineService {
  package typealias Event = SelectionInput
  package typealias Decider = SelectionDecider
  package typealias Query = SelectionQuery
  package typealias Knowledge = SelectionKnowledge
  package typealias Effects = SelectionEffects
  package typealias Decoder = SelectionDecoder

  package static let name = "ad-selection"
  static let source = "/ad-selection"
  static let requestsInput = 0
  /// `ads.usage`: the reports of closed allotments have sequences; asks have none.
  static let usageOutput = 0

  package let inputs = [
    InputDeclaration(topic: Topic.requests.name, isSequenced: false),
    InputDeclaration(topic: Topic.budgets.name, isSequenced: true, boundsWatermark: false),
  ]
  package let outputs = [Topic.usage.name]
  package let publishesWatermarks = false
  package let ring: KeyRing

  private static let asks = MessageMaker(topic: Topic.usage.name, type: .allotmentAsked, source: source)
  private static let reports = MessageMaker(topic: Topic.usage.name, type: .allotmentReported, source: source)
  private static let watermarks = MessageMaker(topic: Topic.usage.name, type: .watermarkPassed, source: source)

  /// - Throws: `CryptoError` where libcrypto lacks what tokens and marks need: said here, before a partition is loaded.
  package init(ring: KeyRing) throws(CryptoError) {
    _ = try SelectionCrypto(ring: ring)
    self.ring = ring
  }

  package static func count(_ effects: SelectionEffects, into counts: inout [SelectionCountKey: Int64]) {
    effects.count(into: &counts)
  }

  package func makeDecoder() throws(CryptoError) -> SelectionDecoder { try SelectionDecoder(ring: ring) }

  package func watermarkMessage(_ watermark: Watermark, output: Int, partition: Int32) -> OutgoingMessage? {
    Self.watermarks.message(UsageRecord.watermark(watermark), of: watermark, partition: partition)
  }

  /// An ask; asked again for the same ordinal it is the same event.
  static func message(_ ask: AllotmentAsk, partition: Int32, now: Timestamp) -> OutgoingMessage {
    asks.message(
      UsageRecord.ask(ask), id: "\(partition)/ask/\(ask.campaign)/\(ask.budgetDay)/\(ask.ordinal)", time: now,
      partition: partition, key: Array(ask.campaign.text.utf8))
  }

  /// The report of a closed allotment; made again from its row it is the same.
  package static func message(
    _ report: AllotmentReport, campaign: CampaignID, sequence: Int64, partition: Int32
  ) -> OutgoingMessage {
    reports.message(
      UsageRecord.report(sequence: sequence, report), id: "\(partition)/\(sequence)", time: report.closedAt,
      partition: partition, key: Array(campaign.text.utf8))
  }
}

/// What a partition signs and verifies with. For one thread at a time.
package struct SelectionCrypto {
  let issuer: ServeTokenIssuer
  let forwarding: ForwardingMark
  let clients: ClientHasher
  let references: ClickReferences

  /// - Throws: `CryptoError` where libcrypto has no HMAC-SHA-256: fatal.
  package init(ring: KeyRing) throws(CryptoError) {
    issuer = try ServeTokenIssuer(ring: ring)
    forwarding = try ForwardingMark(ring: ring)
    clients = try ClientHasher(ring: ring)
    references = try ClickReferences(ring: ring)
  }
}
