internal import AdCore
package import AdEvents

/// What a record of ad selection's inputs says.
package enum SelectionInput: Sendable {
  /// `ads.requests`.
  case request(IncomingRequest)
  /// `ads.budgets`: a piece of budget for this partition.
  case grant(AllotmentGrant)
  /// `ads.budgets`: a watermark; nothing here waits for one.
  case watermark
  case rejected(Rejection)
}

/// A request with what is worked out of it where it is decoded.
package struct IncomingRequest: Sendable {
  package var request: AdRequest
  /// SHA-256 of the app key.
  package var appKeyHash: [UInt8]
  /// The keyed hash of the client id, else of the session id (A8).
  package var clientHash: UInt64
  /// The record's value: what a forwarding mark binds.
  package var payload: [UInt8]
  /// The forwarding mark that came with it; empty without one.
  package var mark: [UInt8]

  package init(request: AdRequest, appKeyHash: [UInt8], clientHash: UInt64, payload: [UInt8], mark: [UInt8]) {
    self.request = request
    self.appKeyHash = appKeyHash
    self.clientHash = clientHash
    self.payload = payload
    self.mark = mark
  }

  /// The partition that a request belongs to: of the client id, else of the session id, as Kafka's clients hash keys.
  package func partition(count: Int32) -> Int32 {
    KafkaPartition.of(key: request.clientID.isEmpty ? request.sessionID : request.clientID, count: count)
  }
}
