package import AdCore
package import AdEvents
internal import Pipeline

/// What a record of `ads.impressions` says, its token checked.
package enum ImpressionInput: RejectableEvent {
  /// Something about a served ad.
  case event(ServedEvent)
  /// An error that happened without an ad (E1, E5, E6).
  case failure(RequestFailure)
  case rejected(Rejection)
}

/// An event whose token verified.
package struct ServedEvent: Sendable {
  package var kind: ImpressionEvent.Kind
  package var terms: ServedTerms
  package var age: EventAge
  /// `ce_time`, where there was one.
  package var claimedTime: Timestamp?
  package var error: AdError?

  package init(
    kind: ImpressionEvent.Kind, terms: ServedTerms, age: EventAge, claimedTime: Timestamp?, error: AdError?
  ) {
    self.kind = kind
    self.terms = terms
    self.age = age
    self.claimedTime = claimedTime
    self.error = error
  }
}

/// A failure that a device tells by request id.
package struct RequestFailure: Hashable, Sendable {
  package var requestID: UUIDv7
  /// SHA-256 of the app key that it carries.
  package var keyHash: [UInt8]
  package var app: AppID
  package var placement: PlacementID
  package var error: AdError

  package init(requestID: UUIDv7, keyHash: [UInt8], app: AppID, placement: PlacementID, error: AdError) {
    self.requestID = requestID
    self.keyHash = keyHash
    self.app = app
    self.placement = placement
    self.error = error
  }
}
