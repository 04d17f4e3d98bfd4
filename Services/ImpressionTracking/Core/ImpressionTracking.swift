package import AdCore
package import AdEvents
package import Crypto
package import Pipeline

/// Impression tracking, as the pipeline runs it: `ads.impressions` in, `ads.impressions.accepted` out.
package struct ImpressionTracking: PipelineService {
  package typealias Event = ImpressionInput
  package typealias Decider = ImpressionDecider
  package typealias Query = ImpressionQuery
  package typealias Knowledge = ImpressionKnowledge
  package typealias Effects = ImpressionEffects
  package typealias Decoder = ImpressionDecoder

  package static let name = "impression-tracking"
  package let inputs = [InputDeclaration(topic: Topic.impressions.name, isSequenced: false)]
  package let outputs = [Topic.acceptedImpressions.name]
  package let publishesWatermarks = true
  package let ring: KeyRing
  package let windows: Windows
  private let watermarks = MessageMaker(
    topic: Topic.acceptedImpressions.name, type: .watermarkPassed, source: "/impression-tracking")
  private static let runs = RunMaker<AcceptedImpression>(
    topic: Topic.acceptedImpressions.name, source: "/impression-tracking")

  package init(ring: KeyRing, windows: Windows) {
    self.ring = ring
    self.windows = windows
  }

  package static func count(_ effects: ImpressionEffects, into counts: inout [ImpressionMinuteKey: Int64]) {
    effects.count(into: &counts)
  }

  package func makeDecoder() throws(CryptoError) -> ImpressionDecoder { try ImpressionDecoder(ring: ring) }

  package func watermarkMessage(_ watermark: Watermark, output: Int, partition: Int32) -> OutgoingMessage? {
    watermarks.message(Sequenced<AcceptedImpression>.watermark(watermark), of: watermark, partition: partition)
  }

  /// The messages of a partition's accepted impressions, in the order of their sequences.
  package static func messages(
    _ impressions: some Sequence<(sequence: Int64, content: AcceptedImpression)>
  ) -> [NumberedMessage] {
    runs.messages(impressions, output: 0)
  }
}

/// Reads records of `ads.impressions` and checks their tokens.
package struct ImpressionDecoder: RecordDecoder {
  private let tokens: EventTokens
  private var client: UnsafeRawBufferPointer?
  // The serve id says which event it is (M4); a failure's request id does.
  private var headers = RecordHeaders(hashesID: false)

  init(ring: KeyRing) throws(CryptoError) { tokens = try EventTokens(ring: ring) }

  package mutating func key(_ key: UnsafeRawBufferPointer?) { client = key }

  package mutating func begin() { headers = RecordHeaders(hashesID: false) }

  package mutating func header(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    headers.add(name: name, value: value)
  }

  package mutating func decode(
    input: Int, value: UnsafeRawBufferPointer?, arrival: Timestamp
  ) -> (event: ImpressionInput, sequence: RecordSequence) {
    var input = ImpressionInput.rejected(Rejection(.malformed, "the event is empty"))
    let decoded = ImpressionEvent.withDecoded(value: value, headers: headers) { view in
      switch view.subject {
      case .serve(let token): input = served(view, token: token, arrival: arrival)
      case .request(let request):
        input = .failure(
          RequestFailure(
            requestID: request.requestID, keyHash: SHA256.hash(request.appKey.utf8), app: request.app,
            placement: request.placement, error: view.error ?? .unknown))
      }
    }
    if case .failure(let rejection) = decoded { input = .rejected(rejection) }
    return (input, .unnumbered)
  }

  private func served(
    _ view: ImpressionEventView, token: UnsafeRawBufferPointer, arrival: Timestamp
  ) -> ImpressionInput {
    switch tokens.terms(token, of: client, now: arrival) {
    case .success(let terms):
      .event(
        ServedEvent(
          kind: view.kind, terms: terms, age: view.age, claimedTime: view.identity.time, error: view.error))
    case .failure(let rejection): .rejected(rejection)
    }
  }
}
