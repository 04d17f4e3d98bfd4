import AdCore
import AdEvents

/// What became of one record, as the one byte that the batch row keeps for it (I3). The numbers are public and never
/// change meaning: 1 to 15 are the fates of a record that was understood, 16 to 31 free clicks by verdict, 32 to 47
/// requests answered with an error of rules E, 48 to 63 other fates of requests, 64 and up rejections.
package struct Outcome: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt8

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
  /// The request came after its deadline: no auction.
  package static let pastDeadline = Outcome(rawValue: 48)

  /// A click that is recorded and costs nothing.
  package static func free(_ verdict: ClickVerdict) -> Outcome { Outcome(rawValue: 16 + verdict.rawValue) }
  /// A request answered with an error.
  package static func refused(_ error: AdError) -> Outcome { Outcome(rawValue: 32 + error.rawValue) }
  package static func rejected(_ reason: RejectionReason) -> Outcome { Outcome(rawValue: reason.rawValue) }
}

/// The outcomes in words, for metrics and people.
extension Outcome {
  /// What became of the record: `accepted`, `duplicate` and so on, or, with a ``reason``, `free`, `refused`, `rejected`.
  /// A number that has no word yet is `outcome` and the number.
  package var name: String {
    switch self {
    case .absent: "absent"
    case .accepted: "accepted"
    case .duplicate: "duplicate"
    case .forwarded: "forwarded"
    case .parked: "parked"
    case .ahead: "ahead"
    case .noted: "noted"
    case .suspense: "suspense"
    case .impossible: "impossible"
    case .pastDeadline: "pastDeadline"
    default:
      switch rawValue {
      case 16..<32: "free"
      case 32..<48: "refused"
      case RejectionReason.nullValue.rawValue...: "rejected"
      default: "outcome\(rawValue)"
      }
    }
  }

  /// Why, in one word: a click's verdict (``ClickVerdict``), the error of the answer (``AdError``), or the reason of the
  /// rejection (``RejectionReason``), as the code names it. Empty for outcomes that need none.
  package var reason: String {
    switch rawValue {
    case 16..<32: Outcome.word(ClickVerdict(rawValue: rawValue - 16), rawValue - 16)
    case 32..<48: Outcome.word(AdError(rawValue: rawValue - 32), rawValue - 32)
    case RejectionReason.nullValue.rawValue...: Outcome.word(RejectionReason(rawValue: rawValue), rawValue)
    default: ""
    }
  }

  private static func word(_ known: (some Sendable)?, _ number: UInt8) -> String {
    known.map { "\($0)" } ?? "\(number)"
  }
}
