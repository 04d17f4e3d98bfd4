internal import AdBasics

/// The catalogue's records of those who earn: developers, apps, their keys; and the network's settings.
extension Developer {
  init(reading bytes: UnsafeRawBufferPointer) throws(Rejection) {
    var id: DeveloperID?
    var name = ""
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: id = try reader.identifier("developer.id")
      case 2: name = try reader.text("developer.name", maximum: FieldLimits.nameBytesMaximum)
      default: try reader.skip()
      }
    }
    self.init(id: try FieldValue.required(id, "developer.id"), name: name)
  }

  func write(to writer: inout WireWriter) {
    writer.text(1, id.text)
    writer.text(2, name)
  }
}

/// The wire's three answers to whether an app is aimed at users under 17 (A4, A9).
private enum Audience: UInt8, CaseIterable {
  case age17AndOver = 1
  case under17 = 2
}

extension App {
  init(reading bytes: UnsafeRawBufferPointer) throws(Rejection) {
    var id: AppID?
    var developer: DeveloperID?
    var name = ""
    var bundleID = ""
    var isAgreementSigned = false
    var audience: Audience?
    var areAdsEnabled = false
    var categories: Set<String> = []
    var shareBasisPoints: UInt16 = 0
    var exclusions = Exclusions()
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: id = try reader.identifier("app.id")
      case 2: developer = try reader.identifier("app.developer")
      case 3: name = try reader.text("app.name", maximum: FieldLimits.nameBytesMaximum)
      case 4: bundleID = try reader.text("app.bundle_id", maximum: FieldLimits.nameBytesMaximum)
      case 5: isAgreementSigned = try reader.bool()
      case 6: audience = try reader.choice("app.audience")
      case 7: areAdsEnabled = try reader.bool()
      case 8: try reader.label("app.categories", into: &categories)
      case 9: shareBasisPoints = try reader.basisPoints("app.share_basis_points")
      case 10: exclusions = try Exclusions(reading: try reader.bytes())
      default: try reader.skip()
      }
    }
    self.init(
      id: try FieldValue.required(id, "app.id"), developer: try FieldValue.required(developer, "app.developer"),
      name: name, bundleID: bundleID, isAgreementSigned: isAgreementSigned,
      isUnder17: audience.map { $0 == .under17 }, areAdsEnabled: areAdsEnabled, categories: categories,
      shareBasisPoints: shareBasisPoints, exclusions: exclusions)
  }

  func write(to writer: inout WireWriter) {
    writer.text(1, id.text)
    writer.text(2, developer.text)
    writer.text(3, name)
    writer.text(4, bundleID)
    writer.bool(5, isAgreementSigned)
    if let isUnder17 { writer.unsigned(6, UInt64((isUnder17 ? Audience.under17 : .age17AndOver).rawValue)) }
    writer.bool(7, areAdsEnabled)
    writer.texts(8, categories)
    writer.unsigned(9, UInt64(shareBasisPoints))
    writer.message(10) { exclusions.write(to: &$0) }
  }
}

extension Exclusions {
  fileprivate init(reading bytes: UnsafeRawBufferPointer) throws(Rejection) {
    self.init()
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1:
        try FieldValue.room(advertisers.count, "exclusions.advertisers")
        advertisers.insert(
          try FieldValue.required(try reader.identifier("exclusions.advertisers"), "exclusions.advertisers"))
      case 2: try reader.label("exclusions.categories", into: &categories)
      case 3: try reader.label("exclusions.keywords", into: &keywords)
      case 4:
        try FieldValue.room(hosts.count, "exclusions.hosts")
        hosts.insert(try reader.text("exclusions.hosts", maximum: FieldLimits.hostBytesMaximum))
      default: try reader.skip()
      }
    }
  }

  fileprivate func write(to writer: inout WireWriter) {
    writer.texts(1, advertisers.map(\.text))
    writer.texts(2, categories)
    writer.texts(3, keywords)
    writer.texts(4, hosts)
  }
}

extension AppKey {
  init(reading bytes: UnsafeRawBufferPointer) throws(Rejection) {
    var app: AppID?
    var build: BuildKind?
    var keyHash: [UInt8] = []
    var isRevoked = false
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: app = try reader.identifier("app_key.app")
      case 2: build = try reader.choice("app_key.build")
      case 3: keyHash = Array(try reader.bytes("app_key.key_hash", maximum: 32))
      case 4: isRevoked = try reader.bool()
      default: try reader.skip()
      }
    }
    guard keyHash.count == 32 else { throw Rejection(.invalidField, "app_key.key_hash has not 32 bytes") }
    self.init(
      app: try FieldValue.required(app, "app_key.app"), build: try FieldValue.required(build, "app_key.build"),
      keyHash: keyHash, isRevoked: isRevoked)
  }

  func write(to writer: inout WireWriter) {
    writer.text(1, app.text)
    writer.unsigned(2, UInt64(build.rawValue))
    writer.bytes(3, keyHash)
    writer.bool(4, isRevoked)
  }
}

extension NetworkSettings {
  init(reading bytes: UnsafeRawBufferPointer) throws(Rejection) {
    self.init(countries: [], testFillBasisPoints: 0, testErrorBasisPoints: 0)
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1:
        countries.insert(
          try FieldValue.required(try reader.country("settings.countries"), "settings.countries"))
      case 2: testFillBasisPoints = try reader.basisPoints("settings.test_fill_basis_points")
      case 3: testErrorBasisPoints = try reader.basisPoints("settings.test_error_basis_points")
      case 4: standing = try StandingRules(reading: try reader.bytes())
      case 5:
        try FieldValue.room(currencyRates.count, "settings.currency_rates")
        let (currency, rate) = try CurrencyRate.reading(try reader.bytes())
        currencyRates[currency] = rate
      default: try reader.skip()
      }
    }
  }

  func write(to writer: inout WireWriter) {
    writer.texts(1, countries.map(\.description))
    writer.unsigned(2, UInt64(testFillBasisPoints))
    writer.unsigned(3, UInt64(testErrorBasisPoints))
    writer.message(4) { standing.write(to: &$0) }
    for (currency, rate) in currencyRates.sorted(by: { $0.key < $1.key }) {
      writer.message(5) { writer in
        writer.text(1, currency.text)
        writer.signed(2, rate)
      }
    }
  }
}

extension CurrencyRate {
  fileprivate static func reading(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> (Currency, Int64) {
    var currency: Currency?
    var rate: Int64?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: currency = try reader.currency("settings.currency_rates.currency")
      case 2: rate = try reader.integer("settings.currency_rates.millionths", in: range)
      default: try reader.skip()
      }
    }
    return (
      try FieldValue.required(currency, "settings.currency_rates.currency"),
      try FieldValue.required(rate, "settings.currency_rates.millionths")
    )
  }
}

extension StandingRules {
  init(reading bytes: UnsafeRawBufferPointer) throws(Rejection) {
    self.init(days: 0, priorTaps: 0, toleratedBasisPoints: 0, floorBasisPoints: 0)
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: days = try reader.integer("settings.standing.days", in: StandingRules.daysRange)
      case 2: priorTaps = try reader.integer("settings.standing.prior_taps", in: StandingRules.priorTapsRange)
      case 3: toleratedBasisPoints = Int64(try reader.basisPoints("settings.standing.tolerated_basis_points"))
      case 4: floorBasisPoints = Int64(try reader.basisPoints("settings.standing.floor_basis_points"))
      default: try reader.skip()
      }
    }
    guard days > 0 else { throw Rejection(.missingField, "settings.standing.days is missing") }
  }

  func write(to writer: inout WireWriter) {
    writer.unsigned(1, UInt64(clamping: days))
    writer.unsigned(2, UInt64(clamping: priorTaps))
    writer.unsigned(3, UInt64(clamping: toleratedBasisPoints))
    writer.unsigned(4, UInt64(clamping: floorBasisPoints))
  }
}

extension AppStanding {
  init(reading bytes: UnsafeRawBufferPointer) throws(Rejection) {
    var app: AppID?
    var (offer, stopped, tapped): (Int64, Int64, Int64) = (0, 0, 0)
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: app = try reader.identifier("standing.app")
      case 2: offer = try reader.integer("standing.offer_parts_per_million", in: 0...AppStanding.whole)
      case 3: stopped = try reader.integer("standing.stopped", in: 0...Int64.max)
      case 4: tapped = try reader.integer("standing.tapped", in: 0...Int64.max)
      default: try reader.skip()
      }
    }
    self.init(
      app: try FieldValue.required(app, "standing.app"), offerPartsPerMillion: offer, stopped: stopped, tapped: tapped)
  }

  func write(to writer: inout WireWriter) {
    writer.text(1, app.text)
    writer.unsigned(2, UInt64(clamping: offerPartsPerMillion))
    writer.unsigned(3, UInt64(clamping: stopped))
    writer.unsigned(4, UInt64(clamping: tapped))
  }
}
