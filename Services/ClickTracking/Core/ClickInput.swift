package import AdCore
package import AdEvents
internal import Pipeline

/// What a record of click tracking's inputs says, its token checked.
package enum ClickInput: RejectableEvent {
  /// Something about the action of a served ad, from `ads.clicks`.
  case action(ActionEvent)
  /// An impression that counts, from `ads.impressions.accepted`.
  case impression(AcceptedImpression)
  /// A watermark: the sequence gate takes it, nothing is left to decide.
  case watermark
  case rejected(Rejection)
}

/// An event of `ads.clicks` whose token verified.
package struct ActionEvent: Sendable {
  package var kind: TapKind
  package var terms: ServedTerms
  package var age: EventAge
  /// `ce_time`, where there was one.
  package var claimedTime: Timestamp?
  /// The hash of `ce_id`.
  package var idHash: UInt64
  /// How long the action had lasted when the event was sent (M7).
  package var actionMilliseconds: Int64
  package var leftApplication: Bool

  package init(
    kind: TapKind, terms: ServedTerms, age: EventAge, claimedTime: Timestamp?, idHash: UInt64,
    actionMilliseconds: Int64, leftApplication: Bool
  ) {
    self.kind = kind
    self.terms = terms
    self.age = age
    self.claimedTime = claimedTime
    self.idHash = idHash
    self.actionMilliseconds = actionMilliseconds
    self.leftApplication = leftApplication
  }

  package var identity: ActionIdentity { ActionIdentity(serveID: terms.serveID, kind: kind, idHash: idHash) }
}

/// What makes two events of `ads.clicks` the same one: it came again.
package struct ActionIdentity: Hashable, Sendable {
  package var serveID: ServeID
  package var kind: TapKind
  package var idHash: UInt64

  package init(serveID: ServeID, kind: TapKind, idHash: UInt64) {
    self.serveID = serveID
    self.kind = kind
    self.idHash = idHash
  }
}
