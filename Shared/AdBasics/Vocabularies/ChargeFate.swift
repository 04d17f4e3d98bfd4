/// What became of an accepted event. The numbers are public and stored.
package enum ChargeFate: Hashable, Sendable {
  /// Draws on free budget: what it comes to, the database decides before the commit.
  case drawing
  /// The advertiser pays; developer and network share (B2).
  case charged
  /// No budget was left: the advertiser pays nothing, the developer is paid by the network (B4).
  case unfunded
  /// It came after its allotment's end and found no free budget: nobody pays, nobody is paid.
  case late
  /// No budget is free, but allotments that have not ended may still return some: it waits, in its order, until that is
  /// known (B4).
  case waiting
  /// No budget was left, and the network has borne as much for its app's day as it does: nobody pays, nobody is paid.
  case unpaid
  /// Beyond one of its app's caps: it waits for a person (only in `billing.held`).
  case held
  /// It was held, and a person has voided it: nobody pays, nobody is paid.
  case voided
  /// A click that costs nothing, and why: 16 and the number of its verdict.
  case free(ClickVerdict)
}

extension ChargeFate: Vocabulary {
  package static let vocabulary = "charge_fate"
  package static let allCases = plain + ClickVerdict.free.map(ChargeFate.free)
  /// In the order of their numbers.
  private static let plain: [ChargeFate] = [
    .drawing, .charged, .unfunded, .late, .waiting, .unpaid, .held, .voided,
  ]
  private static let firstFree: UInt8 = 16

  package init?(rawValue: UInt8) {
    guard let fate = ChargeFate.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
    self = fate
  }

  package var rawValue: UInt8 {
    switch self {
    case .drawing: 0
    case .charged: 1
    case .unfunded: 2
    case .late: 3
    case .waiting: 4
    case .unpaid: 5
    case .held: 6
    case .voided: 7
    case .free(let verdict): ChargeFate.firstFree + verdict.rawValue
    }
  }

  package var name: String {
    if case .free(let verdict) = self { "free".joined(with: verdict.name) } else { "\(self)" }
  }

  package var rule: String? {
    switch self {
    case .drawing: nil
    case .charged: "B1"
    case .unfunded, .late, .waiting, .unpaid: "B4"
    case .held, .voided: "B8"
    case .free(let verdict): verdict.rule
    }
  }

  package var meaning: String {
    switch self {
    case .drawing: "it draws on free budget, in this transaction"
    case .charged: "it is charged"
    case .unfunded: "no budget could pay it, so the network bears it"
    case .late: "it came after its allotment's end and found no free budget: nobody pays, nobody is paid"
    case .waiting: "it waits for what budget comes back"
    case .unpaid:
      "no budget could pay it, and the network has borne as much for its app's day as it does: nobody is paid"
    case .held: "it is beyond one of its app's caps, or its ad's decision was lost: it waits for a person"
    case .voided: "it was held, and a person has voided it: nobody pays, nobody is paid"
    case .free(let verdict): verdict.meaning
    }
  }
}

/// What an event is paid for.
package enum ChargeKind: Int16, Sendable, Vocabulary {
  case impression = 1
  case click = 2

  package static let vocabulary = "charge_kind"

  package var rule: String? { self == .impression ? "M1" : "M2" }

  package var meaning: String { name }
}

extension String {
  /// Both as one name, such as `freeRepeat`.
  func joined(with word: String) -> String { self + word.prefix(1).uppercased() + word.dropFirst() }
}
