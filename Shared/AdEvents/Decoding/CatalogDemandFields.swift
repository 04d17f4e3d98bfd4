internal import AdBasics

/// The catalogue's records of those who pay: advertisers, campaigns, ads.
extension Advertiser {
  init(reading bytes: UnsafeRawBufferPointer) throws(Rejection) {
    var id: AdvertiserID?
    var name = ""
    var currency: Currency?
    var timeZone = ""
    var funding: Int128?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: id = try reader.identifier("advertiser.id")
      case 2: name = try reader.text("advertiser.name", maximum: FieldLimits.nameBytesMaximum)
      case 3: currency = try reader.currency("advertiser.currency")
      case 4: timeZone = try reader.text("advertiser.time_zone", maximum: FieldLimits.labelBytesMaximum)
      case 5: funding = try reader.decimal("advertiser.account_funding_nanos")
      default: try reader.skip()
      }
    }
    self.init(
      id: try FieldValue.required(id, "advertiser.id"), name: name,
      currency: try FieldValue.required(currency, "advertiser.currency"),
      timeZone: try FieldValue.required(timeZone, "advertiser.time_zone"),
      accountFunding: try FieldValue.required(funding, "advertiser.account_funding_nanos"))
  }

  func write(to writer: inout WireWriter) {
    writer.text(1, id.text)
    writer.text(2, name)
    writer.text(3, currency.text)
    writer.text(4, timeZone)
    writer.text(5, String(accountFunding))
  }
}

extension Campaign {
  init(reading bytes: UnsafeRawBufferPointer) throws(Rejection) {
    var fields = CampaignFields()
    var reader = WireReader(bytes)
    while try reader.next() { try fields.take(&reader) }
    self = try fields.campaign()
  }

  func write(to writer: inout WireWriter) {
    writer.text(1, id.text)
    writer.text(2, advertiser.text)
    writer.text(3, name)
    writer.unsigned(4, UInt64(kind.rawValue))
    writer.signed(5, impressionPrice.value)
    writer.signed(6, clickPrice.value)
    writer.text(7, String(totalBudget))
    if let dailyBudget { writer.text(8, String(dailyBudget)) }
    writer.signed(9, flightStart.milliseconds)
    writer.signed(10, flightEnd.milliseconds)
    writer.bool(11, isPaused)
    writer.message(12) { targeting.write(to: &$0) }
  }
}

private struct CampaignFields {
  var id: CampaignID?
  var advertiser: AdvertiserID?
  var name = ""
  var kind: Campaign.Kind?
  var impressionPrice = Nanos.zero
  var clickPrice = Nanos.zero
  var totalBudget: Int128?
  var dailyBudget: Int128?
  var flightStart = Timestamp(milliseconds: 0)
  var flightEnd = Timestamp(milliseconds: 0)
  var isPaused = false
  var targeting = Targeting()

  mutating func take(_ reader: inout WireReader) throws(Rejection) {
    switch reader.field {
    case 1: id = try reader.identifier("campaign.id")
    case 2: advertiser = try reader.identifier("campaign.advertiser")
    case 3: name = try reader.text("campaign.name", maximum: FieldLimits.nameBytesMaximum)
    case 4: kind = try reader.choice("campaign.kind")
    case 5: impressionPrice = try reader.nanos("campaign.impression_price_nanos")
    case 6: clickPrice = try reader.nanos("campaign.click_price_nanos")
    case 7: totalBudget = try reader.decimal("campaign.total_budget_nanos")
    case 8: dailyBudget = try reader.decimal("campaign.daily_budget_nanos")
    case 9: flightStart = try reader.timestamp("campaign.flight_start_milliseconds")
    case 10: flightEnd = try reader.timestamp("campaign.flight_end_milliseconds")
    case 11: isPaused = try reader.bool()
    case 12: targeting = try Targeting(reading: try reader.bytes())
    default: try reader.skip()
    }
  }

  func campaign() throws(Rejection) -> Campaign {
    Campaign(
      id: try FieldValue.required(id, "campaign.id"),
      advertiser: try FieldValue.required(advertiser, "campaign.advertiser"), name: name,
      kind: try FieldValue.required(kind, "campaign.kind"), impressionPrice: impressionPrice,
      clickPrice: clickPrice, totalBudget: try FieldValue.required(totalBudget, "campaign.total_budget_nanos"),
      dailyBudget: dailyBudget, flightStart: flightStart, flightEnd: flightEnd, isPaused: isPaused,
      targeting: targeting)
  }
}

extension Targeting {
  fileprivate init(reading bytes: UnsafeRawBufferPointer) throws(Rejection) {
    self.init()
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: countries.insert(try FieldValue.required(try reader.country("countries"), "countries"))
      case 2: try reader.choices("devices", into: &devices)
      case 3: try reader.choices("sizes", into: &sizes)
      case 4: allowsUnder17 = try reader.bool()
      case 5: try reader.label("app_categories", into: &appCategories)
      case 6: try reader.label("segments", into: &segments)
      default: try reader.skip()
      }
    }
  }

  fileprivate func write(to writer: inout WireWriter) {
    writer.texts(1, countries.map(\.description))
    writer.choices(2, devices)
    writer.choices(3, sizes)
    writer.bool(4, allowsUnder17)
    writer.texts(5, appCategories)
    writer.texts(6, segments)
  }
}

extension Ad {
  init(reading bytes: UnsafeRawBufferPointer) throws(Rejection) {
    var id: AdID?
    var campaign: CampaignID?
    var images: [AdSize: String] = [:]
    var action: AdAction?
    var lifetimeMilliseconds: Int64 = 0
    var categories: Set<String> = []
    var keywords: Set<String> = []
    var isPaused = false
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: id = try reader.identifier("ad.id")
      case 2: campaign = try reader.identifier("ad.campaign")
      case 3:
        let (size, url) = try CommonFields.image(try reader.bytes())
        images[size] = url
      case 4: action = try CommonFields.action(try reader.bytes())
      case 5: lifetimeMilliseconds = try reader.milliseconds("ad.lifetime_milliseconds")
      case 6: try reader.label("ad.categories", into: &categories)
      case 7: try reader.label("ad.keywords", into: &keywords)
      case 8: isPaused = try reader.bool()
      default: try reader.skip()
      }
    }
    self.init(
      id: try FieldValue.required(id, "ad.id"), campaign: try FieldValue.required(campaign, "ad.campaign"),
      images: images, action: try FieldValue.required(action, "ad.action"),
      lifetimeMilliseconds: lifetimeMilliseconds, categories: categories, keywords: keywords, isPaused: isPaused)
  }

  func write(to writer: inout WireWriter) {
    writer.text(1, id.text)
    writer.text(2, campaign.text)
    for (size, url) in images.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      writer.message(3) { CommonFields.write(size, url, to: &$0) }
    }
    writer.message(4) { CommonFields.write(action, to: &$0) }
    writer.unsigned(5, UInt64(clamping: lifetimeMilliseconds))
    writer.texts(6, categories)
    writer.texts(7, keywords)
    writer.bool(8, isPaused)
  }
}
