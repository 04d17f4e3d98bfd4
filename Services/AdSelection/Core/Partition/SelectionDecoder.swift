package import AdCore
internal import AdEvents
internal import Crypto
package import Pipeline

/// Reads records of `ads.requests` and `ads.budgets`.
package struct SelectionDecoder: RecordDecoder {
  package typealias Event = SelectionInput

  private let hasher: ClientHasher
  private let edge: EdgeMark
  private var headers = RecordHeaders()
  private var key: UnsafeRawBufferPointer?

  init(ring: KeyRing) throws(CryptoError) {
    hasher = try ClientHasher(ring: ring)
    edge = try EdgeMark(ring: ring)
  }

  package mutating func begin() {
    headers = RecordHeaders()
    key = nil
  }

  package mutating func key(_ key: UnsafeRawBufferPointer?) { self.key = key }

  package mutating func header(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    headers.add(name: name, value: value)
  }

  package mutating func decode(
    input: Int, value: UnsafeRawBufferPointer?, arrival: Timestamp
  ) -> (event: SelectionInput, sequence: RecordSequence) {
    input == AdSelection.requestsInput
      ? (request(value, arrival: arrival), .unnumbered) : budget(value)
  }

  private func request(_ value: UnsafeRawBufferPointer?, arrival: Timestamp) -> SelectionInput {
    let sight = sight(value, arrival: arrival)
    func incoming(
      _ content: IncomingRequest.Content, app: AppID, appKey: String?, clientID: String, sessionID: String
    ) -> SelectionInput {
      let clientHash = hasher.hash(app: app, clientID: clientID, sessionID: sessionID, now: arrival)
      return .request(
        IncomingRequest(
          content: content, appKeyHash: appKey.map { SHA256.hash($0.utf8) }, clientHash: clientHash,
          payload: value.map(Array.init) ?? [], isJSON: headers.isJSON(value: value), mark: headers.forwardedMark,
          sight: sight))
    }
    switch AdRequest.decodeLegibly(value: value, headers: headers) {
    case .success(var request):
      // Where the edge saw the device, nobody takes its own word for it.
      request.country = sight?.country ?? request.country
      return incoming(
        .sound(request), app: request.app, appKey: request.appKey, clientID: request.clientID,
        sessionID: request.sessionID)
    case .failure(let rejected):
      guard var legible = rejected.legible else { return .rejected(rejected.rejection) }
      legible.country = sight?.country ?? legible.country
      return incoming(
        .mistaken(legible, rejected.rejection), app: legible.app, appKey: legible.appKey, clientID: legible.clientID,
        sessionID: legible.sessionID)
    }
  }

  /// What the edge saw, where the record came by it.
  private func sight(_ value: UnsafeRawBufferPointer?, arrival: Timestamp) -> EdgeSight? {
    guard !headers.edgeMark.isEmpty, let key, let value else { return nil }
    return headers.edgeMark.withUnsafeBytes { edge.sight($0, key: key, value: value, now: arrival) }
  }

  private func budget(_ value: UnsafeRawBufferPointer?) -> (event: SelectionInput, sequence: RecordSequence) {
    switch BudgetRecord.decode(value: value, headers: headers) {
    case .success(.grant(let sequence, let grant)): (.grant(grant), .number(sequence))
    case .success(.refusal(let refusal)): (.refusal(refusal), .unnumbered)
    case .success(.watermark(let watermark)): (.watermark, .watermark(watermark))
    case .failure(let rejection): (.rejected(rejection), .unnumbered)
    }
  }
}
