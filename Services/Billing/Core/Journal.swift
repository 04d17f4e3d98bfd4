package import AdCore

/// An account of the ledger.
package enum LedgerAccount: Hashable, Sendable {
  case advertiser(AdvertiserID)
  case developer(DeveloperID)
  /// The network's share.
  case networkRevenue
  /// What the network pays developers for ads that no budget paid for.
  case networkUnfunded

  /// The name in the tables.
  package var text: String {
    switch self {
    case .advertiser(let id): "advertiser:\(id)"
    case .developer(let id): "developer:\(id)"
    case .networkRevenue: "network:revenue"
    case .networkUnfunded: "network:unfunded"
    }
  }
}

/// The entries that a batch makes in the ledger, added up by account and currency (B5). Each charge adds as much debit
/// as credit, so the sums agree in every currency, always (I6).
package struct Journal: Hashable, Sendable {
  package struct Key: Hashable, Sendable {
    package var account: LedgerAccount
    package var currency: Currency
  }

  /// Sums of nanos. A batch has fewer than 2³² events of less than 2⁶³ nanos each, so they cannot overflow.
  package struct Sums: Hashable, Sendable {
    package var debit: Int128 = 0
    package var credit: Int128 = 0
  }

  package private(set) var entries: [Key: Sums] = [:]

  package init() {}

  package var isEmpty: Bool { entries.isEmpty }

  /// The advertiser pays both parts of what an event costs.
  package mutating func charge(_ parts: RevenueShare.Parts, terms: ServedTerms) {
    add(
      .advertiser(terms.advertiser), terms.currency, debit: Int128(parts.developer.value) + Int128(parts.network.value))
    add(.developer(terms.developer), terms.currency, credit: Int128(parts.developer.value))
    add(.networkRevenue, terms.currency, credit: Int128(parts.network.value))
  }

  private mutating func add(_ account: LedgerAccount, _ currency: Currency, debit: Int128 = 0, credit: Int128 = 0) {
    guard debit != 0 || credit != 0 else { return }
    let key = Key(account: account, currency: currency)
    entries[key, default: Sums()].debit += debit
    entries[key, default: Sums()].credit += credit
  }
}
