import AdEvents

/// What became of an accepted event. The numbers are public and stored.
package enum ChargeFate: Hashable, Sendable {
  /// Draws on free budget: what it comes to, the database decides before the commit.
  case drawing
  /// The advertiser pays; developer and network share (B2).
  case charged
  /// No budget was left: the advertiser pays nothing, the developer is paid by the network (B4).
  case unfunded
  /// No budget is free, but allotments that have not ended may still return some: it waits, in its order, until that is
  /// known (B4).
  case waiting
  /// It came after its allotment's end and found no free budget: nobody pays, nobody is paid.
  case late
  /// A click that costs nothing, and why.
  case free(ClickVerdict)

  /// The number in the tables: 0 to 4, and from 16 on the click's verdict.
  package var number: Int16 {
    switch self {
    case .drawing: 0
    case .charged: 1
    case .unfunded: 2
    case .late: 3
    case .waiting: 4
    case .free(let verdict): 16 + Int16(verdict.rawValue)
    }
  }
}

/// What an event is paid for.
package enum ChargeKind: Int16, CaseIterable, Hashable, Sendable {
  case impression = 1
  case click = 2
}
