import AdCore
import BillingCore
import Pipeline

/// What ledger and reports say of the money, beside what the events cost.
extension MoneyAudit {
  struct Entry: Hashable {
    var account: String
    var currency: Currency
    var isDebit: Bool
  }

  private struct Revenue: Hashable {
    var minute: Int64
    var app: AppID
    var campaign: CampaignID
    var currency: Currency
  }

  private struct Sums: Hashable {
    var events: Int128 = 0
    var developer: Int128 = 0
    var network: Int128 = 0

    mutating func add(_ events: Int128, _ developer: Int128, _ network: Int128) {
      self.events += events
      self.developer += developer
      self.network += network
    }
  }

  /// M6: revenue is counted once, in its minute, and comes to what the charges cost.
  func compareRevenue() {
    let tables = world.billing.tables
    for (partition, charges) in Dictionary(grouping: tables.charges.values, by: \.partition) {
      let complaint = tables.counts.complaint(rows: charges.count, partition: partition, events: \.events)
      if let complaint { world.fail("billing[\(partition)]: \(complaint)") }
    }
    var counted: [Revenue: Sums] = [:]
    var paid: [Revenue: Sums] = [:]
    for (key, sums) in tables.counts.written.values.joined() {
      let revenue = Revenue(minute: key.minute, app: key.app, campaign: key.campaign, currency: key.currency)
      counted[revenue, default: Sums()].add(Int128(sums.events), sums.developer, sums.network)
    }
    for charge in tables.charges.values {
      let (event, terms) = (charge.event, charge.event.terms)
      let revenue = Revenue(
        minute: event.eventTime.milliseconds / 60_000, app: terms.app, campaign: terms.campaign,
        currency: terms.currency)
      paid[revenue, default: Sums()].add(1, Int128(charge.developer), Int128(charge.network))
    }
    if counted != paid { world.fail("the minutes say that apps got \(counted), the charges \(paid)") }
  }

  /// I6, and that the ledger says what the events cost.
  func compareLedger(_ state: State) {
    var posted: [Entry: Int128] = [:]
    var balances: [String: Int128] = [:]
    for posting in world.billing.tables.postings {
      posted[Entry(account: posting.account, currency: posting.currency, isDebit: true), default: 0] += posting.debit
      posted[Entry(account: posting.account, currency: posting.currency, isDebit: false), default: 0] += posting.credit
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
