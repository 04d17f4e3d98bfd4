import AdCore
import BillingCore
import Pipeline

/// What ledger and reports say of the money, beside what the events cost.
extension MoneyAudit {
  /// M6: revenue is counted once, in its minute, and comes to what the charges cost.
  func compareRevenue() {
    let tables = world.billing.tables
    for (partition, charges) in Dictionary(grouping: tables.charges.values, by: \.partition) {
      let complaint = tables.counts.complaint(rows: charges.count, partition: partition, events: \.events)
      if let complaint { world.fail("billing[\(partition)]: \(complaint)") }
    }
    let counted = tables.counts.written.values.flatMap(\.values).reduce(Int128(0)) { $0 + $1.developer }
    let paid = tables.charges.values.reduce(Int128(0)) { $0 + Int128($1.developer) }
    if counted != paid { world.fail("the minutes say that developers get \(counted), the charges \(paid)") }
  }

  /// I6, and that the ledger says what the events cost.
  func compareLedger(_ state: State) {
    var posted: [Entry: Int128] = [:]
    var balances: [String: Int128] = [:]
    for posting in world.billing.tables.postings {
      posted[Entry(account: posting.account, isDebit: true), default: 0] += posting.debit
      posted[Entry(account: posting.account, isDebit: false), default: 0] += posting.credit
      balances["\(posting.partition)/\(posting.batch)/\(posting.currency)", default: 0] +=
        posting.debit - posting.credit
    }
    for (journal, difference) in balances where difference != 0 {
      world.fail("I6: journal \(journal) is off by \(difference)")
    }
    if posted.filter({ $0.value != 0 }) != state.ledger.filter({ $0.value != 0 }) {
      world.fail("the ledger says \(posted), not \(state.ledger)")
    }
  }
}
