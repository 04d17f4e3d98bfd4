/// What became of one record, as the one byte that the batch row keeps for it (I3). The numbers are public and never
/// change meaning: 1 to 15 are the fates of a record that was understood, 16 to 31 free clicks by verdict, 32 to 47
/// requests answered with an error of rules E, 48 to 63 other fates of requests, 64 and up rejections.
package struct Outcome: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt8

  @inlinable
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// No record had this offset: a transaction marker or a compacted record took it.
  package static let absent = Outcome(rawValue: 0)
  /// Taken, and it has its effect: an impression, a billable click, a served request, a charge.
  package static let accepted = Outcome(rawValue: 1)
  /// The same again: counts nowhere.
  package static let duplicate = Outcome(rawValue: 2)
  /// Sent on to the partition it belongs to.
  package static let forwarded = Outcome(rawValue: 3)
  /// Waits for something; its later fate is a row.
  package static let parked = Outcome(rawValue: 4)
  /// Further on than the next sequence: not taken, it comes again.
  package static let ahead = Outcome(rawValue: 5)
  /// A watermark, an ask or another message without an effect of its own.
  package static let noted = Outcome(rawValue: 6)
  /// Could not be processed by the database; put aside with an alarm (billing).
  package static let suspense = Outcome(rawValue: 7)
  /// Understood, and it cannot be true: recorded and counted, without any effect (B8).
  package static let impossible = Outcome(rawValue: 8)
  /// Beyond one of its app's caps (B8): a person releases or voids it (billing).
  package static let held = Outcome(rawValue: 9)
  /// Its sequence belongs to commits that the database has lost: what it tells is decided anew. Or it says, in a timeline that
  /// has ended, that sequences are gone.
  package static let lost = Outcome(rawValue: 10)
  /// The request came after its deadline: no auction.
  package static let pastDeadline = Outcome(rawValue: 48)

  /// A click that is recorded and costs nothing.
  package static func free(_ verdict: ClickVerdict) -> Outcome { Outcome(rawValue: 16 + verdict.rawValue) }
  /// A request answered with an error.
  package static func refused(_ error: AdError) -> Outcome { Outcome(rawValue: 32 + error.rawValue) }
  package static func rejected(_ reason: RejectionReason) -> Outcome { Outcome(rawValue: reason.rawValue) }

  /// That of a record which holds several events, of which some became this and some `other`: what was put aside says
  /// most, what was known already least; else they were taken, and what became of each is a row.
  package func joined(with other: Outcome) -> Outcome {
    if self == .absent || self == .duplicate { return other }
    if self == other || other == .duplicate { return self }
    if isPutAside { return self }
    return other.isPutAside ? other : .accepted
  }

  private var isPutAside: Bool { self == .suspense || rawValue >= RejectionReason.nullValue.rawValue }
}

/// The outcomes in words, for metrics and people.
extension Outcome: Vocabulary {
  package static let vocabulary = "outcome"
  package static let allCases =
    plain.keys.sorted { $0.rawValue < $1.rawValue }
    + ClickVerdict.free.map(Outcome.free) + AdError.allCases.map(Outcome.refused)
    + RejectionReason.allCases.map(Outcome.rejected)

  private static let plain: [Outcome: (name: String, meaning: String)] = [
    .absent: ("absent", "no record had this offset"),
    .accepted: ("accepted", "it was taken, and has its effect"),
    .duplicate: ("duplicate", "it came again, and counts nowhere"),
    .forwarded: ("forwarded", "it was sent on to the partition it belongs to"),
    .parked: ("parked", "it waits; what becomes of it is a row"),
    .ahead: ("ahead", "it lies further on than the next sequence: it comes again"),
    .noted: ("noted", "a watermark, an ask or another message without an effect of its own"),
    .suspense: ("suspense", "the database refused it; it was put aside with an alarm"),
    .impossible: ("impossible", "it cannot be true: recorded and counted, without any effect"),
    .held: ("held", "it is beyond one of its app's caps, or its ad's decision was lost: a person releases or voids it"),
    .lost: ("lost", "its sequence belongs to commits that the database has lost: what it tells is decided anew"),
    .pastDeadline: ("pastDeadline", "the request came after its deadline: no auction"),
  ]

  /// What became of the record: `accepted`, `duplicate` and so on, or, with a ``reason``, `free`, `refused`, `rejected`.
  /// A number that has no word yet is `outcome` and the number.
  package var kind: String {
    if let words = Outcome.plain[self] { return words.name }
    return switch rawValue {
    case 16..<32: "free"
    case 32..<48: "refused"
    case RejectionReason.nullValue.rawValue...: "rejected"
    default: "outcome\(rawValue)"
    }
  }

  /// Why, in one word: a click's verdict (``ClickVerdict``), the error of the answer (``AdError``), or the reason of the
  /// rejection (``RejectionReason``), as the code names it. Empty for outcomes that need none.
  package var reason: String { cause.map { $0.known?.name ?? "\($0.number)" } ?? "" }

  package var name: String { kind.joined(with: reason) }
  package var rule: String? { cause?.known?.rule }
  package var meaning: String { cause?.known?.meaning ?? Outcome.plain[self]?.meaning ?? name }

  /// The word of the vocabulary that says why, if this program knows it, and its number there.
  private var cause: (known: (any Vocabulary)?, number: UInt8)? {
    switch rawValue {
    case 16..<32: (ClickVerdict(rawValue: rawValue - 16), rawValue - 16)
    case 32..<48: (AdError(rawValue: rawValue - 32), rawValue - 32)
    case RejectionReason.nullValue.rawValue...: (RejectionReason(rawValue: rawValue), rawValue)
    default: nil
    }
  }
}
