package import AdCore
package import AdEvents
package import Crypto
package import Pipeline

/// Click tracking, as the pipeline runs it: `ads.clicks` and `ads.impressions.accepted` in, `ads.clicks.accepted` out.
package struct ClickTracking: PipelineService {
  package typealias Event = ClickInput
  package typealias Decider = ClickDecider
  package typealias Query = ClickQuery
  package typealias Knowledge = ClickKnowledge
  package typealias Effects = ClickEffects
  package typealias Decoder = ClickDecoder

  package static let name = "click-tracking"
  /// Where the impressions stand in ``inputs``.
  static let impressionsInput = 1

  package let inputs = [
    InputDeclaration(topic: Topic.clicks.name, isSequenced: false),
    InputDeclaration(topic: Topic.acceptedImpressions.name, isSequenced: true),
  ]
  package let outputs = [Topic.acceptedClicks.name]
  package let publishesWatermarks = true
  package let ring: KeyRing
  private let watermarks = MessageMaker(
    topic: Topic.acceptedClicks.name, type: .watermarkPassed, source: "/click-tracking")
  private static let runs = RunMaker<AcceptedClick>(topic: Topic.acceptedClicks.name, source: "/click-tracking")

  package init(ring: KeyRing) { self.ring = ring }

  package static func count(_ effects: ClickEffects, into counts: inout [ClickMinuteKey: Int64]) {
    effects.count(into: &counts)
  }

  package func makeDecoder() throws(CryptoError) -> ClickDecoder { try ClickDecoder(ring: ring) }

  package func watermarkMessage(_ watermark: Watermark, output: Int, partition: Int32) -> OutgoingMessage? {
    watermarks.message(Sequenced<AcceptedClick>.watermark(watermark), of: watermark, partition: partition)
  }

  /// The messages of a partition's decided clicks, in the order of their sequences.
  package static func messages(
    _ clicks: some Sequence<(sequence: Int64, content: AcceptedClick)>
  ) -> [NumberedMessage] {
    runs.messages(clicks, output: 0)
  }
}

/// Reads records of `ads.clicks`, and checks their tokens, and of `ads.impressions.accepted`.
package struct ClickDecoder: RecordDecoder {
  private let tokens: EventTokens
  private let references: ClickReferences
  private var client: UnsafeRawBufferPointer?
  private var headers = RecordHeaders()

  init(ring: KeyRing) throws(CryptoError) {
    tokens = try EventTokens(ring: ring)
    references = try ClickReferences(ring: ring)
  }

  package mutating func key(_ key: UnsafeRawBufferPointer?) { client = key }

  package mutating func begin() { headers = RecordHeaders() }

  package mutating func header(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    headers.add(name: name, value: value)
  }

  package mutating func decode(
    input: Int, value: UnsafeRawBufferPointer?, arrival: Timestamp
  ) -> (event: ClickInput, sequence: RecordSequence) {
    let decoded = ClickEvent.withDecoded(value: value, headers: headers) { view in action(view, arrival: arrival) }
    switch decoded {
    case .success(let event): return (event, .unnumbered)
    case .failure(let rejection): return (.rejected(rejection), .unnumbered)
    }
  }

  package mutating func decode(
    _ record: UndecodedRecord, value: UnsafeRawBufferPointer?, into batch: inout InputBatch<ClickInput>
  ) {
    guard record.input == ClickTracking.impressionsInput else {
      let decoded = decode(input: record.input, value: value, arrival: record.arrival)
      batch.append(InputRecord(record, sequence: decoded.sequence, event: decoded.event))
      return
    }
    switch AcceptedRecords.impressions(value: value, headers: headers) {
    case .success(.run(let run)):
      batch.append(run.events, from: run.first, of: record) { .impression($0) }
    case .success(.watermark(let watermark)):
      batch.append(InputRecord(record, sequence: .watermark(watermark), event: .watermark))
    case .failure(let rejection):
      // What does not decode has no number: the hole behind it is noticed, and its events are published again.
      batch.append(InputRecord(record, sequence: .unnumbered, event: .rejected(rejection)))
    }
  }

  private func action(_ view: ClickEventView, arrival: Timestamp) -> ClickInput {
    if let conversion = view.conversion { return self.conversion(conversion, view.identity) }
    return switch tokens.terms(view.token, of: client, now: arrival) {
    case .success(let terms):
      .action(
        ActionEvent(
          kind: view.kind, terms: terms, age: view.age, claimedTime: view.identity.time, idHash: view.identity.idHash,
          actionMilliseconds: view.actionMilliseconds, leftApplication: view.leftApplication))
    case .failure(let rejection): .rejected(rejection)
    }
  }

  private func conversion(_ conversion: ClickEvent.Conversion, _ identity: EventIdentity) -> ClickInput {
    guard let reference = references.open(conversion.reference) else {
      return .rejected(Rejection(.referenceForged, "M8: the click reference is not ours or was altered"))
    }
    return .conversion(
      ToldConversion(
        reference: reference, identity: ConversionIdentity(kind: conversion.kind, idHash: identity.idHash),
        keyHash: SHA256.hash(conversion.appKey.utf8), value: conversion.value, currency: conversion.currency,
        claimedTime: identity.time))
  }
}
