internal import AdCore
internal import AdEvents
internal import BillingCore
internal import Postgres
internal import Synchronization

/// What billing follows of the catalogue: whose campaigns there are, and what they may cost. Each change is in the
/// database before it is known here, so that nothing is asked of a budget that is not there.
final class BudgetCatalog: Sendable {
  private struct Entry<Value: Sendable>: Sendable {
    var value: Value
    var version: Int64
    /// Whether the database is known to have it.
    var isStored = true

    /// Whether this version says nothing new.
    func knows(_ version: Int64) -> Bool { version < self.version || version == self.version && isStored }
  }

  private struct State: Sendable {
    var advertisers: [AdvertiserID: Entry<Advertiser>] = [:]
    var calendars: [AdvertiserID: BudgetCalendar] = [:]
    var campaigns: [CampaignID: Entry<Campaign>] = [:]
    /// Campaigns that came before their advertiser, and wait for its currency.
    var withoutCurrency: [AdvertiserID: Set<CampaignID>] = [:]
    /// Versions at which records were deleted, by key.
    var deletions: [String: Int64] = [:]
  }

  private let state = Mutex(State())
  private let clock: any TimeSource

  init(clock: any TimeSource) { self.clock = clock }

  /// What the catalogue says of these campaigns; those that it does not know, or whose advertiser it does not know, are
  /// left out.
  func terms(of campaigns: Set<CampaignID>) -> [CampaignID: CampaignTerms] {
    state.withLock { state in
      var terms: [CampaignID: CampaignTerms] = [:]
      for id in campaigns {
        guard let campaign = state.campaigns[id]?.value, campaign.kind != .house,
          let advertiser = state.advertisers[campaign.advertiser]?.value,
          let calendar = state.calendars[campaign.advertiser]
        else { continue }
        terms[id] = CampaignTerms(
          advertiser: advertiser.id, currency: advertiser.currency, calendar: calendar,
          flightStart: campaign.flightStart, flightEnd: campaign.flightEnd, isPaused: campaign.isPaused)
      }
      return terms
    }
  }

  /// Whether this message changes an advertiser's currency. The console refuses that, because amounts are booked in the
  /// old one: its account stays as it is, beside a new one.
  func currencyChange(
    _ message: CatalogMessage
  ) -> (advertiser: AdvertiserID, before: Currency, after: Currency)? {
    guard case .record(.advertiser(let advertiser), _) = message, !knows(message),
      let before = state.withLock({ $0.advertisers[advertiser.id]?.value.currency }), before != advertiser.currency
    else { return nil }
    return (advertiser.id, before, advertiser.currency)
  }

  /// Whether a message says nothing new to billing.
  func knows(_ message: CatalogMessage) -> Bool {
    state.withLock { state in
      switch message {
      case .record(.advertiser(let advertiser), let version):
        state.advertisers[advertiser.id]?.knows(version) ?? false
          || version <= state.deletions[CatalogRecord.advertiser(advertiser).key] ?? 0
      case .record(.campaign(let campaign), let version):
        state.campaigns[campaign.id]?.knows(version) ?? false
          || version <= state.deletions[CatalogRecord.campaign(campaign).key] ?? 0
      case .deleted(let key, let version): version <= state.deletions[key] ?? 0
      case .record, .heartbeat: true
      }
    }
  }

  /// Takes a tombstone: a deletion a day old leaves the catalogue. The click rates are forgotten again, for ads that had been
  /// shown when they were deleted were counted since. Nothing is done at a tombstone that is said again: a console that starts
  /// says all of them.
  func forget(_ key: String, in connection: PostgresConnection) throws(PostgresError) {
    guard state.withLock({ $0.deletions[key] != nil }) else { return }
    try forgetClickCounts(key, in: connection)
    state.withLock { $0.deletions[key] = nil }
  }

  /// Commits may have been lost: what is published next, each 30 s, is brought into the database once more.
  func forgetStored() {
    state.withLock { state in
      for id in state.advertisers.keys { state.advertisers[id]?.isStored = false }
      for id in state.campaigns.keys { state.campaigns[id]?.isStored = false }
    }
  }

  /// Takes a message of `ads.catalog`: the highest version of each record wins. May be called again with the same
  /// message after it threw.
  func apply(_ message: CatalogMessage, in connection: PostgresConnection) throws(PostgresError) {
    if knows(message) { return }
    switch message {
    case .record(.advertiser(let advertiser), let version):
      try apply(advertiser, version: version, in: connection)
    case .record(.campaign(let campaign), let version):
      try apply(campaign, version: version, in: connection)
    case .deleted(let key, let version):
      try forgetClickCounts(key, in: connection)
      delete(key, version: version)
    case .record, .heartbeat:
      break
    }
  }

  private func apply(
    _ advertiser: Advertiser, version: Int64, in connection: PostgresConnection
  ) throws(PostgresError) {
    let campaigns = state.withLock { state in
      (state.withoutCurrency[advertiser.id] ?? []).compactMap { state.campaigns[$0] }
        .filter { $0.value.advertiser == advertiser.id }
    }
    let calendar = BudgetCalendar(timeZone: advertiser.timeZone)
    _ = try connection.run(FundAccount(advertiser: advertiser, version: version))
    for campaign in campaigns {
      try fund(campaign, currency: advertiser.currency, calendar: calendar, in: connection)
    }
    state.withLock { state in
      state.advertisers[advertiser.id] = Entry(value: advertiser, version: version)
      state.calendars[advertiser.id] = calendar
      state.withoutCurrency[advertiser.id] = nil
    }
  }

  private func apply(_ campaign: Campaign, version: Int64, in connection: PostgresConnection) throws(PostgresError) {
    let entry = Entry(value: campaign, version: version)
    let (currency, calendar) = state.withLock { state in
      (state.advertisers[campaign.advertiser]?.value.currency, state.calendars[campaign.advertiser])
    }
    if let currency { try fund(entry, currency: currency, calendar: calendar, in: connection) }
    state.withLock { state in
      state.campaigns[campaign.id] = entry
      if currency == nil { state.withoutCurrency[campaign.advertiser, default: []].insert(campaign.id) }
    }
  }

  private func fund(
    _ campaign: Entry<Campaign>, currency: Currency, calendar: BudgetCalendar?, in connection: PostgresConnection
  ) throws(PostgresError) {
    guard campaign.value.kind != .house else { return }
    _ = try connection.run(
      FundCampaign(
        campaign: campaign.value, currency: currency, version: campaign.version,
        firstDay: calendar?.day(of: clock.now).number ?? earliestDay))
  }

  /// The day before that of UTC: where an advertiser's time zone is not known here, no zone's is further behind.
  private var earliestDay: Int32 {
    Int32(clamping: clock.now.milliseconds / 86_400_000 - 1)
  }

  private func forgetClickCounts(_ key: String, in connection: PostgresConnection) throws(PostgresError) {
    if let campaign = Self.name("campaign/", key) {
      _ = try connection.run(ForgetCampaignClickCounts(campaign: campaign))
    }
    if let ad = Self.name("ad/", key) { _ = try connection.run(ForgetAdClickCounts(ad: ad)) }
  }

  /// What stands behind the kind of a key of that kind.
  private static func name(_ kind: String, _ key: String) -> String? {
    key.hasPrefix(kind) ? String(key.dropFirst(kind.count)) : nil
  }

  private func delete(_ key: String, version: Int64) {
    state.withLock { state in
      guard version > state.deletions[key] ?? 0 else { return }
      state.deletions[key] = version
      if let id = Self.name("campaign/", key).flatMap(CampaignID.init),
        let entry = state.campaigns[id], entry.version < version
      {
        state.campaigns[id] = nil
      }
      if let id = Self.name("advertiser/", key).flatMap(AdvertiserID.init),
        let entry = state.advertisers[id], entry.version < version
      {
        state.advertisers[id] = nil
        state.calendars[id] = nil
      }
    }
  }
}
