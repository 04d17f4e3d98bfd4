package import AdCore
package import AdEvents
internal import Pipeline

/// What a record of click tracking's inputs says, its token checked.
package enum ClickInput: RejectableEvent {
  /// Something about the action of a served ad, from `ads.clicks`.
  case action(ActionEvent)
  /// What came of a click, from `ads.clicks` too.
  case conversion(ToldConversion)
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

/// A conversion whose click reference verified (M8).
package struct ToldConversion: Sendable {
  /// The ad whose click it came of.
  package var reference: ClickReference
  package var identity: ConversionIdentity
  /// SHA-256 of the app key that it carries.
  package var keyHash: [UInt8]
  package var value: Nanos
  package var currency: Currency?
  /// `ce_time`, where there was one.
  package var claimedTime: Timestamp?

  package init(
    reference: ClickReference, identity: ConversionIdentity, keyHash: [UInt8], value: Nanos = .zero,
    currency: Currency? = nil, claimedTime: Timestamp? = nil
  ) {
    self.reference = reference
    self.identity = identity
    self.keyHash = keyHash
    self.value = value
    self.currency = currency
    self.claimedTime = claimedTime
  }
}

/// Of what conversions are told apart: of an ad, and live ones from those of test builds (A2), so that none takes another's
/// place.
package struct ConvertedAd: Hashable, Sendable {
  package var serveID: ServeID
  package var isTest: Bool

  package init(serveID: ServeID, isTest: Bool) {
    self.serveID = serveID
    self.isTest = isTest
  }
}

/// What tells the conversions of one click from each other: of purchases each counts, of all else the first.
package struct ConversionIdentity: Hashable, Sendable {
  package var kind: ConversionKind
  /// The hash of a purchase's `ce_id`; 0 of what counts once.
  package var idHash: UInt64

  package init(kind: ConversionKind, idHash: UInt64) {
    self.kind = kind
    self.idHash = kind == .purchase ? idHash : 0
  }
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
