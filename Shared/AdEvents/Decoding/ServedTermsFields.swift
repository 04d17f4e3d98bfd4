internal import AdCore

/// The message `ServedTerms`, within the accepted events.
struct ServedTermsFields {
  private var serveID: ServeID?
  private var partition: Int32 = 0
  private var issuedAt = Timestamp(milliseconds: 0)
  private var expiresAt = Timestamp(milliseconds: 0)
  private var app: AppID?
  private var developer: DeveloperID?
  private var advertiser: AdvertiserID?
  private var campaign: CampaignID?
  private var ad: AdID?
  private var placement: PlacementID?
  private var country: Country?
  private var device: Device?
  private var size: AdSize?
  private var impressionPrice = Nanos.zero
  private var clickPrice = Nanos.zero
  private var currency: Currency?
  private var shareBasisPoints: UInt16 = 0
  private var allotment: UInt64 = 0
  private var budgetDay: Int32 = 0
  private var clientHash: UInt64 = 0
  private var isTest = false

  static func read(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> ServedTerms {
    var fields = ServedTermsFields()
    var reader = WireReader(bytes)
    while try reader.next() { try fields.take(&reader) }
    return try fields.terms()
  }

  private mutating func take(_ reader: inout WireReader) throws(Rejection) {
    switch reader.field {
    case 1: serveID = try reader.uuid("serve_id")
    case 2: partition = Int32(try reader.integer("partition", in: 0...Int64(Int32.max)))
    case 3: issuedAt = try reader.timestamp("issued_at_milliseconds")
    case 4: expiresAt = try reader.timestamp("expires_at_milliseconds")
    case 5: app = try reader.identifier("app")
    case 6: developer = try reader.identifier("developer")
    case 7: advertiser = try reader.identifier("advertiser")
    case 8: campaign = try reader.identifier("campaign")
    case 9: ad = try reader.identifier("ad")
    case 10: placement = try reader.identifier("placement")
    case 11: country = try reader.country("country")
    case 12: device = try reader.choice("device")
    case 13: size = try reader.choice("size")
    case 14: impressionPrice = try reader.nanos("impression_price_nanos")
    case 15: clickPrice = try reader.nanos("click_price_nanos")
    case 16: currency = try reader.currency("currency")
    case 17: shareBasisPoints = try reader.basisPoints("share_basis_points")
    case 18: allotment = try reader.unsigned()
    case 19: budgetDay = try reader.zigzag32("budget_day")
    case 20: clientHash = try reader.fixed64()
    case 21: isTest = try reader.bool()
    default: try reader.skip()
    }
  }

  private func terms() throws(Rejection) -> ServedTerms {
    ServedTerms(
      serveID: try FieldValue.required(serveID, "serve_id"), partition: partition, issuedAt: issuedAt,
      expiresAt: expiresAt, app: try FieldValue.required(app, "app"),
      developer: try FieldValue.required(developer, "developer"),
      advertiser: try FieldValue.required(advertiser, "advertiser"),
      campaign: try FieldValue.required(campaign, "campaign"), ad: try FieldValue.required(ad, "ad"),
      placement: try FieldValue.required(placement, "placement"),
      country: try FieldValue.required(country, "country"), device: try FieldValue.required(device, "device"),
      size: try FieldValue.required(size, "size"), impressionPrice: impressionPrice, clickPrice: clickPrice,
      currency: try FieldValue.required(currency, "currency"), shareBasisPoints: shareBasisPoints,
      allotment: allotment, budgetDay: budgetDay, clientHash: clientHash, isTest: isTest)
  }

  static func write(_ terms: ServedTerms, to writer: inout WireWriter) {
    writer.uuid(1, high: terms.serveID.high, low: terms.serveID.low)
    writer.signed(2, Int64(terms.partition))
    writer.signed(3, terms.issuedAt.milliseconds)
    writer.signed(4, terms.expiresAt.milliseconds)
    writer.text(5, terms.app)
    writer.text(6, terms.developer)
    writer.text(7, terms.advertiser)
    writer.text(8, terms.campaign)
    writer.text(9, terms.ad)
    writer.text(10, terms.placement)
    writer.text(11, terms.country)
    writer.unsigned(12, UInt64(terms.device.rawValue))
    writer.unsigned(13, UInt64(terms.size.rawValue))
    writer.signed(14, terms.impressionPrice.value)
    writer.signed(15, terms.clickPrice.value)
    writer.text(16, terms.currency)
    writer.unsigned(17, UInt64(terms.shareBasisPoints))
    writer.unsigned(18, terms.allotment)
    writer.zigzag(19, Int64(terms.budgetDay))
    writer.fixed64(20, terms.clientHash)
    writer.bool(21, terms.isTest)
  }
}
