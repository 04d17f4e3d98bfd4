internal import AdCore

/// What records of the catalogue must agree on with each other. Pure: the store asks it inside its transaction.
struct CatalogRules {
  /// One record that is written, with what it replaces.
  struct Change: Sendable {
    var path: String
    /// The live record before; nil for a new one.
    var old: CatalogRecord?
    /// What a deleted record was last: who makes it anew may not change either what rows of its time name.
    var deleted: CatalogRecord?
    var new: CatalogRecord
    /// What it was last, deleted or not.
    var last: CatalogRecord? { old ?? deleted }
  }

  /// All live records as they will be.
  let after: [String: CatalogRecord]
  let changes: [Change]
  /// Keys that are deleted.
  let deleted: Set<String>
  /// Keys of records that are to be written and cannot be read: nobody can say how they will be.
  let illegible: Set<String>
  /// Bundle ids that were ever set to under 17.
  let under17Bundles: Set<String>
  private var problems: [CatalogProblem] = []

  init(
    after: [String: CatalogRecord], changes: [Change], deleted: Set<String> = [], illegible: Set<String> = [],
    under17Bundles: Set<String> = []
  ) {
    self.after = after
    self.changes = changes
    self.deleted = deleted
    self.illegible = illegible
    self.under17Bundles = under17Bundles
  }

  /// Everything that does not agree; empty when the changes may be written.
  static func problems(_ rules: CatalogRules) -> [CatalogProblem] {
    var rules = rules
    for change in rules.changes { rules.check(change) }
    rules.checkCurrencies()
    if !rules.deleted.isEmpty { rules.checkDeletions() }
    return rules.problems
  }

  private mutating func check(_ change: Change) {
    switch change.new {
    case .advertiser(let advertiser): check(advertiser, change)
    case .campaign(let campaign): check(campaign, change)
    case .ad(let ad): check(ad, change)
    case .app(let app): check(app, change)
    case .appKey(let key): check(key, change)
    case .standing:
      note(change, "offerPartsPerMillion", "it is measured by the console, and written by nobody else (A7)")
    case .developer, .settings: break
    }
  }

  private mutating func note(_ change: Change, _ field: String, _ advice: String) {
    problems.append(CatalogProblem("\(change.path).\(CatalogJSON.fileField(field))", advice))
  }

  private mutating func requireRecord(_ key: String, _ change: Change, _ field: String) {
    guard after[key] == nil, !illegible.contains(key) else { return }
    note(change, field, "there is no \(key): add it to the file, or name one that there is")
  }

  private mutating func check(_ advertiser: Advertiser, _ change: Change) {
    guard case .advertiser(let old) = change.last, old.currency != advertiser.currency else { return }
    note(
      change, "currency",
      "it is \(old.currency) and cannot change, since amounts are booked in it: make a new advertiser")
  }

  private mutating func check(_ campaign: Campaign, _ change: Change) {
    requireRecord("advertiser/\(campaign.advertiser)", change, "advertiser")
    if case .campaign(let old) = change.last, old.advertiser != campaign.advertiser {
      note(change, "advertiser", "it is \(old.advertiser) and cannot change: make a new campaign")
    }
    checkBudgets(campaign, change)
    if case .campaign(let old) = change.old {
      guard old.kind != campaign.kind else { return }
      for case .ad(let ad) in after.values.sorted(by: { $0.key < $1.key }) where ad.campaign == campaign.id {
        // The ad's own change, if there is one, tells it too.
        guard !changes.contains(where: { $0.new.key == "ad/\(ad.id)" }) else { continue }
        for fault in ad.faults(in: campaign) {
          note(change, "kind", "does not suit ad/\(ad.id) (\(fault)): change the ad as well")
        }
      }
    }
  }

  /// What was so before keeps nobody from changing something else, such as a pause.
  private mutating func checkBudgets(_ campaign: Campaign, _ change: Change) {
    let known = if case .campaign(let old) = change.old { old.scarceBudgets() } else { [CatalogFault]() }
    for fault in campaign.scarceBudgets() where !known.contains(fault) { note(change, fault.field, fault.advice) }
  }

  private mutating func check(_ ad: Ad, _ change: Change) {
    guard case .campaign(let campaign) = after["campaign/\(ad.campaign)"] else {
      requireRecord("campaign/\(ad.campaign)", change, "campaign")
      return
    }
    if case .ad(let old) = change.last, old.campaign != ad.campaign {
      note(change, "campaign", "it is \(old.campaign) and cannot change: make a new ad")
    }
    for fault in ad.faults(in: campaign) { note(change, fault.field, fault.advice) }
    guard let advertised = ad.action.advertisedApp else { return }
    requireRecord("app/\(advertised)", change, "action.destination")
    // A link that stays is a matter of the app's own change: it keeps nobody from pausing the ad.
    if case .ad(let old) = change.old, old.action == ad.action, ad.isPaused || !old.isPaused { return }
    if case .app(let app) = after["app/\(advertised)"], app.isUnder17 == true {
      note(
        change, "action.destination",
        "app/\(advertised) is for users under 17, who cannot agree that anything is told of them (A4, M8): leave "
          + "\(ClickMacro(app: advertised).text) out")
    }
  }

  private mutating func check(_ app: App, _ change: Change) {
    requireRecord("developer/\(app.developer)", change, "developer")
    for advertiser in app.exclusions.advertisers.sorted() {
      requireRecord("advertiser/\(advertiser)", change, "exclusions.advertisers")
    }
    var old: App?
    if case .app(let last) = change.last { old = last }
    // One that was deleted takes its steps again (A9); its bundle's audience is remembered, and its builds are still out (A4).
    if change.old == nil { old?.isUnder17 = nil }
    // A new app of such a bundle may still be without an answer, as the agreement comes first (A9).
    let isBundleUnder17 = under17Bundles.contains(app.bundleID) && app.isUnder17 != nil
    for refusal in PrimaryAudience.refusals(from: old, to: app, isBundleUnder17: isBundleUnder17) {
      note(change, old?.bundleID ?? app.bundleID == app.bundleID ? "isUnder17" : "bundleID", refusal.description)
    }
    guard app.isUnder17 == true else { return }
    for case .app(let other) in after.values
    where other.bundleID == app.bundleID && other.id != app.id && other.isUnder17 == false {
      note(change, "isUnder17", "app/\(other.id) has the same bundle id and says no: answer yes for both (A4)")
    }
    guard case .app(let before) = change.old, before.isUnder17 != true else { return }
    // Nobody's ad that is not shown keeps the app from its answer.
    for case .ad(let ad) in after.values.sorted(by: { $0.key < $1.key })
    where ad.action.advertisedApp == app.id && !ad.isPaused {
      note(
        change, "isUnder17",
        "ad/\(ad.id) leads to it with a reference, and users under 17 cannot agree that anything is told of them (A4, M8): "
          + "leave \(ClickMacro(app: app.id).text) out of the ad's action.destination first, or pause it")
    }
  }

  private mutating func check(_ key: AppKey, _ change: Change) {
    requireRecord("app/\(key.app)", change, "app")
    for case .appKey(let other) in after.values
    where other.keyHash == key.keyHash && (other.app != key.app || other.build != key.build) {
      note(change, "key", "app \(other.app) has the same key for \(other.build.name) builds: give each its own (A1)")
    }
  }

  /// An auction compares amounts of several currencies by what their units are worth. What was so before keeps nobody from
  /// changing something else.
  private mutating func checkCurrencies() {
    let before = changes.reduce(into: after) { $0[$1.new.key] = $1.old }
    let known = CatalogRules.currenciesWithoutRate(before)
    for currency in CatalogRules.currenciesWithoutRate(after).subtracting(known).sorted() {
      problems.append(
        CatalogProblem(
          "settings.currencyRates",
          "there are paid campaigns in \(currency) and in other currencies: name what a unit of \(currency) is worth in "
            + "settings.currencyRates, in millionths of the network's own unit, such as \"\(currency)\": \(CurrencyRate.whole)"
        ))
    }
  }

  /// The currencies of paid campaigns, if there are several, that have no rate.
  private static func currenciesWithoutRate(_ records: [String: CatalogRecord]) -> Set<Currency> {
    let currencies = records.values.reduce(into: Set<Currency>()) { currencies, record in
      guard case .campaign(let campaign) = record, campaign.kind != .house,
        case .advertiser(let advertiser)? = records["advertiser/\(campaign.advertiser)"]
      else { return }
      currencies.insert(advertiser.currency)
    }
    guard currencies.count > 1 else { return [] }
    guard case .settings(let settings)? = records["settings"] else { return currencies }
    return currencies.filter { settings.currencyRates[$0] == nil }
  }

  private mutating func checkDeletions() {
    for record in after.values.sorted(by: { $0.key < $1.key }) {
      let needed: [String]
      switch record {
      case .campaign(let campaign): needed = ["advertiser/\(campaign.advertiser)"]
      case .ad(let ad): needed = ["campaign/\(ad.campaign)"] + (ad.action.advertisedApp.map { ["app/\($0)"] } ?? [])
      case .app(let app):
        needed = ["developer/\(app.developer)"] + app.exclusions.advertisers.sorted().map { "advertiser/\($0)" }
      case .appKey(let key): needed = ["app/\(key.app)"]
      case .advertiser, .developer, .settings, .standing: continue
      }
      for key in needed where deleted.contains(key) {
        problems.append(CatalogProblem(key, "is needed by \(record.key): delete that first, or both together"))
      }
    }
    if deleted.contains("settings") {
      problems.append(CatalogProblem("settings", "cannot be deleted: ad selection cannot do without them"))
    }
  }
}
