import AdCore
import AdEvents
import BillingCore
import Pipeline

/// The simulated worlds' billing tables by themselves, so that they can be compared with the real ones: what a simulation
/// proves is worth as much as they are alike.
package struct BudgetTwin {
  /// Everything there is, as lines of names and numbers that the real tables can be read into as well.
  package struct Accounts: Equatable, Sendable {
    /// Requested, funded, allotted, charged, waiting; by account, campaign, and campaign and day.
    package var levels: [String: [Int128]]
    /// Partition, ordinal, granted, amount, charged, used (-1 when not told), set aside and charged for clicks,
    /// campaign's free budget, state; by id.
    package var allotments: [Int64: [Int64]]
    /// Fate, the developer's part, the network's; by serve, kind and hash. What waits has the fate 4 and no parts, what is
    /// held 6.
    package var fates: [String: [Int64]]
    /// Debit and credit by batch, account and currency.
    package var postings: [String: [Int128]]

    package init(
      levels: [String: [Int128]] = [:], allotments: [Int64: [Int64]] = [:], fates: [String: [Int64]] = [:],
      postings: [String: [Int128]] = [:]
    ) {
      self.levels = levels
      self.allotments = allotments
      self.fates = fates
      self.postings = postings
    }
  }

  /// The twin refuses a batch.
  package struct Refused: Error {
    package let detail: String
  }

  private var tables: BillingTables

  package init(caps: TrafficCaps = TrafficCaps()) { tables = BillingTables(caps: caps, sabotage: nil) }

  /// The catalogue says what may be spent.
  package mutating func fund(_ message: CatalogMessage, now: Timestamp) { tables.fund(message, now: now) }

  /// Settles a batch and returns its grants' messages.
  package mutating func commit(_ batch: CommitBatch<BillingService>) throws(Refused) -> [NumberedMessage] {
    do throws(Budgets.Broken) {
      let settlement = try tables.settled(batch)
      tables.keep(settlement, of: batch)
      return settlement.grants
    } catch {
      throw Refused(detail: error.detail)
    }
  }

  package var accounts: Accounts {
    var accounts = Accounts()
    for (key, level) in tables.budgets.levels {
      let name =
        switch key {
        case .account(let advertiser, let currency): "\(advertiser) \(currency.text)"
        case .campaign(let campaign): "\(campaign)"
        case .day(let campaign, let day): "\(campaign) \(day)"
        }
      accounts.levels[name] = [level.requested, level.funded, level.allotted, level.charged, level.waiting]
    }
    for (id, row) in tables.budgets.allotments {
      accounts.allotments[Int64(bitPattern: id)] = [
        Int64(row.partition), row.ordinal, row.granted, row.amount, row.charged, row.used ?? -1, row.clickReserve,
        row.clicksCharged, row.campaignFree,
        Int64(row.state),
      ]
    }
    for (key, row) in tables.charges {
      let name = "\(key.serveID) \(key.kind.rawValue) \(Int64(bitPattern: key.idHash))"
      accounts.fates[name] = [Int64(row.fate.number), row.developer, row.network]
    }
    for waiter in tables.waiting.values.joined() {
      let key = BillingTables.EventKey(waiter.charge.event)
      let name = "\(key.serveID) \(key.kind.rawValue) \(Int64(bitPattern: key.idHash))"
      accounts.fates[name] = [Int64(ChargeFate.waiting.number), 0, 0]
    }
    for held in tables.held.values.joined() {
      let key = BillingTables.EventKey(held.held.event)
      let name = "\(key.serveID) \(key.kind.rawValue) \(Int64(bitPattern: key.idHash))"
      accounts.fates[name] = [Int64(ChargeFate.held.number), 0, 0]
    }
    for posting in tables.postings {
      let name = "\(posting.batch) \(posting.account) \(posting.currency.text)"
      let before = accounts.postings[name] ?? [0, 0]
      accounts.postings[name] = [before[0] + posting.debit, before[1] + posting.credit]
    }
    return accounts
  }
}
