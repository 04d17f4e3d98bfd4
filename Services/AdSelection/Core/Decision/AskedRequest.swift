package import AdCore
package import AdEvents

/// Who asks for an ad, as the row of a decision tells it. Of a request with a mistake it is what can be read.
package struct AskedRequest: Hashable, Sendable {
  package var requestID: UUIDv7
  package var app: AppID
  package var placement: PlacementID?
  package var country: Country?
  package var device: Device?
  /// The keyed hash of the client id, else of the session id (A8).
  package var clientHash: UInt64
  package var partition: Int32
  package var arrival: Timestamp
  /// The moment after which nobody waits for the answer. Where the request does not say, the last that there can be.
  package var deadline: Timestamp
  /// What the edge saw of whoever asks; nil where it did not come by the edge.
  package var sight: EdgeSight?

  package init(
    _ request: LegibleRequest, clientHash: UInt64, partition: Int32, arrival: Timestamp, sight: EdgeSight? = nil
  ) {
    self.sight = sight
    requestID = request.requestID
    app = request.app
    placement = request.placement
    country = request.country
    device = request.device
    self.clientHash = clientHash
    self.partition = partition
    self.arrival = arrival
    let deadline = request.deadlineMilliseconds ?? FieldLimits.deadlineMilliseconds.upperBound
    self.deadline = arrival.advanced(byMilliseconds: max(0, deadline))
  }

  /// When it came, by no clock that is ahead of the decider's: what throttling and the memory of requests go by (D2). So
  /// a stall of ours changes nothing, and a broker's clock that was ahead holds nobody up once it is set right.
  package func moment(now: Timestamp) -> Timestamp { min(arrival, now) }
}
