package import AdCore
internal import Crypto
package import JSON

/// Records of the catalogue in the form of catalogue files, which is also that of the table.
package enum CatalogJSON {
  /// The fewest bytes of an app's key: it is a secret that nobody may guess.
  static let keyBytesMinimum = 16

  /// What was read: a record, or for an app's key without a key the wish for a new one.
  enum Reading: Hashable, Sendable {
    case record(CatalogRecord)
    case newKey(app: AppID, build: BuildKind)
  }

  /// Reads a record and checks it by itself; nil with problems.
  static func read(
    _ value: JSONValue, as kind: CatalogKind, at path: String, problems: inout [CatalogProblem]
  ) -> Reading? {
    let (reading, found) = draft(value, as: kind, at: path)
    problems += found
    return found.isEmpty ? reading : nil
  }

  /// The same of a record with problems, as far as it can be read: so that what it lacks beside the others is told with
  /// what is wrong in it.
  static func draft(
    _ value: JSONValue, as kind: CatalogKind, at path: String
  ) -> (reading: Reading?, problems: [CatalogProblem]) {
    var reader = FieldReader(value, at: path, fields: kind.fields)
    let reading = read(kind, &reader)
    guard case .record(let record)? = reading else { return (reading, reader.problems) }
    // A field that cannot be read has a default here, and nobody wrote that.
    let unread = reader.problems.map(\.path)
    let faults = record.faults().map { CatalogProblem(reader.path(of: fileField($0.field)), $0.advice) }
      .filter { fault in !unread.contains { $0.hasPrefix(fault.path) } }
    return (reading, reader.problems + faults)
  }

  /// The record of a body that was stored; nil for one that this program cannot read.
  package static func record(stored value: JSONValue, kind: CatalogKind) -> CatalogRecord? {
    var problems: [CatalogProblem] = []
    guard case .record(let record) = read(value, as: kind, at: "", problems: &problems) else { return nil }
    return record
  }

  /// What the file calls a field of the records' own checks.
  static func fileField(_ field: String) -> String { field == "impressionPrice" ? "cpm" : field }

  private static func read(_ kind: CatalogKind, _ reader: inout FieldReader) -> Reading? {
    switch kind {
    case .advertiser: advertiser(&reader).map { .record(.advertiser($0)) }
    case .campaign: campaign(&reader).map { .record(.campaign($0)) }
    case .ad: ad(&reader).map { .record(.ad($0)) }
    case .developer: developer(&reader).map { .record(.developer($0)) }
    case .app: app(&reader).map { .record(.app($0)) }
    case .appKey: appKey(&reader)
    case .settings: .record(.settings(settings(&reader)))
    case .standing: standing(&reader).map { .record(.standing($0)) }
    }
  }

  private static func advertiser(_ reader: inout FieldReader) -> Advertiser? {
    let id: AdvertiserID? = reader.identifier("id")
    let name = reader.text("name")
    let code = reader.text("currency")
    let currency = code.flatMap(Currency.init(_:))
    if code != nil && currency == nil { reader.note("currency", "must be three letters A-Z, such as USD") }
    let timeZone = reader.text("timeZone")
    let funding = reader.money("accountFunding")
    guard let id, let name, let currency, let timeZone, let funding else { return nil }
    return Advertiser(id: id, name: name, currency: currency, timeZone: timeZone, accountFunding: funding)
  }

  private static func campaign(_ reader: inout FieldReader) -> Campaign? {
    let id: CampaignID? = reader.identifier("id")
    let advertiser: AdvertiserID? = reader.identifier("advertiser")
    let name = reader.text("name")
    let kind = reader.choice("kind", Campaign.Kind.allCases, \.catalogName)
    let impressionPrice = reader.pricePerThousand("cpm")
    let clickPrice = reader.price("clickPrice")
    let totalBudget = reader.money("totalBudget")
    let dailyBudget = reader.money("dailyBudget", isNullable: true)
    let flightStart = reader.moment("flightStart")
    let flightEnd = reader.moment("flightEnd")
    let isPaused = reader.flag("isPaused")
    let targeting = reader.object("targeting", fields("targeting", of: .campaign)) { reader in
      Targeting(
        countries: countries(&reader),
        devices: reader.set("devices", "a device: phone or pad") { text in
          Device.allCases.first { $0.name == text }
        },
        sizes: reader.set("sizes", "a size: \(sizeNames)", AdSize.init(name:)),
        allowsUnder17: reader.flag("allowsUnder17"), appCategories: reader.set("appCategories", "a text") { $0 },
        segments: reader.set("segments", "a text") { $0 })
    }
    guard let id, let advertiser, let name, let kind, let totalBudget, let flightStart, let flightEnd else {
      return nil
    }
    return Campaign(
      id: id, advertiser: advertiser, name: name, kind: kind, impressionPrice: impressionPrice,
      clickPrice: clickPrice, totalBudget: totalBudget, dailyBudget: dailyBudget, flightStart: flightStart,
      flightEnd: flightEnd, isPaused: isPaused, targeting: targeting)
  }

  private static func ad(_ reader: inout FieldReader) -> Ad? {
    let id: AdID? = reader.identifier("id")
    let campaign: CampaignID? = reader.identifier("campaign")
    let images = reader.map("images", "a URL for a size: \(sizeNames)", AdSize.init(name:)) { $0.textValue }
    let action = reader.object("action", fields("action", of: .ad)) { reader -> AdAction? in
      let kind = reader.choice("kind", AdAction.Kind.allCases, \.name)
      let destination = reader.text("destination")
      guard let kind, let destination else { return nil }
      return AdAction(kind: kind, destination: destination)
    }
    let lifetime = CatalogLimits.lifetimeMilliseconds
    let life = reader.integer("lifetimeMilliseconds", in: lifetime, default: lifetime.upperBound)
    let categories = reader.set("categories", "a text") { $0 }
    let keywords = reader.set("keywords", "a text") { $0 }
    let isPaused = reader.flag("isPaused")
    guard let id, let campaign, let action else { return nil }
    return Ad(
      id: id, campaign: campaign, images: images, action: action, lifetimeMilliseconds: life, categories: categories,
      keywords: keywords, isPaused: isPaused)
  }

  private static func developer(_ reader: inout FieldReader) -> Developer? {
    let id: DeveloperID? = reader.identifier("id")
    let name = reader.text("name")
    guard let id, let name else { return nil }
    return Developer(id: id, name: name)
  }

  private static func app(_ reader: inout FieldReader) -> App? {
    let id: AppID? = reader.identifier("id")
    let developer: DeveloperID? = reader.identifier("developer")
    let name = reader.text("name")
    let bundleID = reader.text("bundleID")
    let isAgreementSigned = reader.flag("isAgreementSigned")
    let isUnder17 = reader.optionalFlag("isUnder17")
    let areAdsEnabled = reader.flag("areAdsEnabled")
    let categories = reader.set("categories", "a text") { $0 }
    let share = reader.integer(
      "shareBasisPoints", in: 0...Int64(RevenueShare.whole), default: Int64(RevenueShare.standard))
    let exclusions = reader.object("exclusions", fields("exclusions", of: .app)) { reader in
      Exclusions(
        advertisers: reader.set("advertisers", "an advertiser's id", AdvertiserID.init(_:)),
        categories: reader.set("categories", "a text") { $0 }, keywords: reader.set("keywords", "a text") { $0 },
        hosts: reader.set("hosts", "a host") { $0 })
    }
    guard let id, let developer, let name, let bundleID else { return nil }
    return App(
      id: id, developer: developer, name: name, bundleID: bundleID, isAgreementSigned: isAgreementSigned,
      isUnder17: isUnder17, areAdsEnabled: areAdsEnabled, categories: categories, shareBasisPoints: UInt16(share),
      exclusions: exclusions)
  }

  private static func appKey(_ reader: inout FieldReader) -> Reading? {
    let app: AppID? = reader.identifier("app")
    let build = reader.choice("build", BuildKind.allCases, \.name)
    let key = reader.text("key")
    let hash = reader.text("keyHash")
    let isRevoked = reader.flag("isRevoked")
    if key != nil && hash != nil { reader.note("keyHash", "stands beside key: take one of them out") }
    if let key, !(keyBytesMinimum...256).contains(key.utf8.count) {
      reader.note("key", "must have \(keyBytesMinimum) to 256 bytes, or be absent: then one is made")
    }
    let bytes = hash.flatMap(Hexadecimal.bytes)
    if hash != nil && bytes?.count != SHA256.byteCount { reader.note("keyHash", "must be 64 hexadecimal digits") }
    guard reader.isGood, let app, let build else { return nil }
    guard let keyHash = bytes ?? key.map({ SHA256.hash(Array($0.utf8)) }) else {
      guard !isRevoked else {
        reader.note("isRevoked", "needs the key or the keyHash that is revoked")
        return nil
      }
      return .newKey(app: app, build: build)
    }
    return .record(.appKey(AppKey(app: app, build: build, keyHash: keyHash, isRevoked: isRevoked)))
  }

  private static func settings(_ reader: inout FieldReader) -> NetworkSettings {
    NetworkSettings(
      countries: countries(&reader),
      testFillBasisPoints: UInt16(reader.integer("testFillBasisPoints", in: 0...10_000, default: 8_000)),
      testErrorBasisPoints: UInt16(reader.integer("testErrorBasisPoints", in: 0...10_000, default: 500)),
      standing: reader.object("standing", fields("standing", of: .settings)) { reader in
        let rules = StandingRules()
        let share = 0...StandingRules.wholeBasisPoints
        return StandingRules(
          days: reader.integer("days", in: StandingRules.daysRange, default: rules.days),
          priorTaps: reader.integer("priorTaps", in: StandingRules.priorTapsRange, default: rules.priorTaps),
          toleratedBasisPoints: reader.integer("toleratedBasisPoints", in: share, default: rules.toleratedBasisPoints),
          floorBasisPoints: reader.integer("floorBasisPoints", in: share, default: rules.floorBasisPoints))
      }, currencyRates: currencyRates(&reader))
  }

  private static func currencyRates(_ reader: inout FieldReader) -> [Currency: Int64] {
    let range = CurrencyRate.range
    return reader.map(
      "currencyRates",
      "a currency's three letters A-Z with a whole number from \(range.lowerBound) to \(range.upperBound): what its unit is "
        + "worth in millionths of the network's own", Currency.init(_:)
    ) { value in
      value.integerValue.flatMap { range.contains($0) ? $0 : nil }
    }
  }

  private static func standing(_ reader: inout FieldReader) -> AppStanding? {
    let app: AppID? = reader.identifier("app")
    let offer = reader.integer("offerPartsPerMillion", in: 0...AppStanding.whole, default: AppStanding.whole)
    let stopped = reader.integer("stopped", in: 0...Int64.max, default: 0)
    let tapped = reader.integer("tapped", in: 0...Int64.max, default: 0)
    guard let app else { return nil }
    return AppStanding(app: app, offerPartsPerMillion: offer, stopped: stopped, tapped: tapped)
  }

  private static func countries(_ reader: inout FieldReader) -> Set<Country> {
    reader.set("countries", "a country's code of two letters A-Z", Country.init(_:))
  }

  private static let sizeNames = AdSize.allCases.map(\.name).joined(separator: ", ")

  private static func fields(_ name: String, of kind: CatalogKind) -> [CatalogField] {
    guard case .object(let fields) = kind.fields.first(where: { $0.name == name })?.shape else { return [] }
    return fields
  }
}
