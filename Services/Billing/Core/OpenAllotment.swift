import AdCore
import AdEvents

/// An allotment that has not ended, as its partition keeps it in memory: the values of its row.
package struct OpenAllotment: Hashable, Sendable {
  package var id: UInt64
  package var place: BudgetPlace
  /// Nanos; at least what is charged.
  package var amount: Int64
  package var charged: Int64
  package var serveUntil: Timestamp
  /// Ad selection has reported what it used; only charges come now.
  package var isClosed: Bool

  package init(
    id: UInt64, place: BudgetPlace, amount: Int64, charged: Int64, serveUntil: Timestamp, isClosed: Bool
  ) {
    self.id = id
    self.place = place
    self.amount = amount
    self.charged = charged
    self.serveUntil = serveUntil
    self.isClosed = isClosed
  }

  /// Charges an event whole, or not at all: false when it does not fit.
  mutating func charge(_ price: Nanos) -> Bool {
    guard price.value >= 0, price.value <= amount - charged else { return false }
    charged += price.value
    return true
  }

  /// Lowers the amount to what was used or is charged already; the rest is free again.
  mutating func close(used: Nanos) {
    isClosed = true
    amount = min(amount, max(used.value, charged))
  }
}

/// How allotments are numbered: the partition, then the grant's sequence on `ads.budgets`.
package enum AllotmentID {
  private static let sequenceBits: UInt64 = 40

  package static func make(partition: Int32, sequence: Int64) -> UInt64 {
    UInt64(UInt32(bitPattern: partition)) << sequenceBits | UInt64(bitPattern: sequence)
  }

  /// Which partition it was granted to.
  package static func partition(of id: UInt64) -> UInt64 { id >> sequenceBits }

  /// The sequence of its grant.
  package static func sequence(of id: UInt64) -> Int64 { Int64(id & (1 << sequenceBits - 1)) }
}
