internal import AdBasics

extension BudgetRecord: EventMessage {
  package static var schemaName: String { "handbill.v1.BudgetRecord" }
  package static var eventTypes: [EventType] { [.allotmentGranted, .allotmentRefused, .watermarkPassed] }
  package static var isWrittenByClients: Bool { false }

  package var eventType: EventType {
    switch self {
    case .grant: .allotmentGranted
    case .refusal: .allotmentRefused
    case .watermark: .watermarkPassed
    }
  }

  package static func read(
    _ bytes: UnsafeRawBufferPointer, headers: RecordHeaders
  ) throws(Rejection) -> BudgetRecord {
    var sequence: Int64 = 0
    var grant: AllotmentGrant?
    var refusal: AllotmentRefusal?
    var watermark: Watermark?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: sequence = try reader.integer("sequence", in: 0...Int64.max)
      case 2:
        grant = try AllotmentGrant.read(try reader.bytes())
        (refusal, watermark) = (nil, nil)
      case 3:
        watermark = try CommonFields.watermark(try reader.bytes())
        (grant, refusal) = (nil, nil)
      case 4:
        refusal = try AllotmentRefusal.read(try reader.bytes())
        (grant, watermark) = (nil, nil)
      default: try reader.skip()
      }
    }
    if let watermark { return .watermark(watermark) }
    if let refusal { return .refusal(refusal) }
    let checked = try FieldValue.required(grant, "content")
    guard sequence > 0 else { throw Rejection(.missingField, "sequence is missing") }
    return .grant(sequence: sequence, checked)
  }

  package func write(to writer: inout WireWriter) {
    switch self {
    case .grant(let sequence, let grant):
      writer.signed(1, sequence)
      writer.message(2) { grant.write(to: &$0) }
    case .watermark(let watermark):
      writer.message(3) { CommonFields.write(watermark, to: &$0) }
    case .refusal(let refusal):
      writer.message(4) { refusal.write(to: &$0) }
    }
  }
}

extension AllotmentRefusal {
  fileprivate static func read(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> AllotmentRefusal {
    var campaign: CampaignID?
    var budgetDay: Int32 = 0
    var ordinal: Int64?
    var wait: Int64?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: campaign = try reader.identifier("campaign")
      case 2: budgetDay = try reader.zigzag32("budget_day")
      case 3: ordinal = try reader.integer("ordinal", in: 1...Int64.max)
      case 4: wait = try reader.integer("wait_milliseconds", in: waitMilliseconds)
      default: try reader.skip()
      }
    }
    return AllotmentRefusal(
      campaign: try FieldValue.required(campaign, "campaign"), budgetDay: budgetDay,
      ordinal: try FieldValue.required(ordinal, "ordinal"),
      waitMilliseconds: try FieldValue.required(wait, "wait_milliseconds"))
  }

  fileprivate func write(to writer: inout WireWriter) {
    writer.text(1, campaign.text)
    writer.zigzag(2, Int64(budgetDay))
    writer.signed(3, ordinal)
    writer.signed(4, waitMilliseconds)
  }
}

extension AllotmentGrant {
  fileprivate static func read(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> AllotmentGrant {
    var allotment: UInt64 = 0
    var ordinal: Int64 = 0
    var campaign: CampaignID?
    var budgetDay: Int32 = 0
    var amount = Nanos.zero
    var serveUntil = Timestamp(milliseconds: 0)
    var others: Int64 = 0
    var ads: [AdID: Int64] = [:]
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: allotment = try reader.unsigned()
      case 2: ordinal = try reader.integer("ordinal", in: 1...Int64.max)
      case 3: campaign = try reader.identifier("campaign")
      case 4: budgetDay = try reader.zigzag32("budget_day")
      case 5: amount = try reader.nanos("amount_nanos")
      case 6: serveUntil = try reader.timestamp("serve_until_milliseconds")
      case 7: others = try reader.integer("click_rate_millionths", in: 0...ClickRateEstimate.whole)
      case 8:
        try FieldValue.room(ads.count, in: ClickRateBounds.adsMaximum, "ad_click_rates")
        let rate = try readClickRate(try reader.bytes())
        ads[rate.ad] = rate.millionths
      default: try reader.skip()
      }
    }
    guard allotment != 0 else { throw Rejection(.missingField, "allotment is missing") }
    guard ordinal != 0 else { throw Rejection(.missingField, "ordinal is missing") }
    return AllotmentGrant(
      allotment: allotment, ordinal: ordinal, campaign: try FieldValue.required(campaign, "campaign"),
      budgetDay: budgetDay, amount: amount, serveUntil: serveUntil,
      clickRates: ClickRateBounds(others: others, ads: ads))
  }

  private static func readClickRate(
    _ bytes: UnsafeRawBufferPointer
  ) throws(Rejection) -> (ad: AdID, millionths: Int64) {
    var ad: AdID?
    var millionths: Int64 = 0
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: ad = try reader.identifier("ad")
      case 2: millionths = try reader.integer("click_rate_millionths", in: 0...ClickRateEstimate.whole)
      default: try reader.skip()
      }
    }
    return (try FieldValue.required(ad, "ad"), millionths)
  }

  fileprivate func write(to writer: inout WireWriter) {
    writer.unsigned(1, allotment)
    writer.signed(2, ordinal)
    writer.text(3, campaign.text)
    writer.zigzag(4, Int64(budgetDay))
    writer.signed(5, amount.value)
    writer.signed(6, serveUntil.milliseconds)
    writer.signed(7, clickRates.others)
    for (ad, millionths) in clickRates.ads.sorted(by: { $0.key < $1.key }) {
      writer.message(8) { writer in
        writer.text(1, ad.text)
        writer.signed(2, millionths)
      }
    }
  }
}

extension UsageRecord: EventMessage {
  package static var schemaName: String { "handbill.v1.UsageRecord" }
  package static var eventTypes: [EventType] { [.allotmentAsked, .allotmentReported, .watermarkPassed] }
  package static var isWrittenByClients: Bool { false }

  package var eventType: EventType {
    switch self {
    case .ask: .allotmentAsked
    case .report: .allotmentReported
    case .watermark: .watermarkPassed
    }
  }

  package static func read(
    _ bytes: UnsafeRawBufferPointer, headers: RecordHeaders
  ) throws(Rejection) -> UsageRecord {
    var sequence: Int64 = 0
    var ask: AllotmentAsk?
    var report: AllotmentReport?
    var watermark: Watermark?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: sequence = try reader.integer("sequence", in: 0...Int64.max)
      case 2:
        ask = try readAsk(try reader.bytes())
        (report, watermark) = (nil, nil)
      case 3:
        report = try readReport(try reader.bytes())
        (ask, watermark) = (nil, nil)
      case 4:
        watermark = try CommonFields.watermark(try reader.bytes())
        (ask, report) = (nil, nil)
      default: try reader.skip()
      }
    }
    if let ask { return .ask(ask) }
    if let watermark { return .watermark(watermark) }
    let checked = try FieldValue.required(report, "content")
    guard sequence > 0 else { throw Rejection(.missingField, "sequence is missing") }
    return .report(sequence: sequence, checked)
  }

  private static func readAsk(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> AllotmentAsk {
    var campaign: CampaignID?
    var advertiser: AdvertiserID?
    var budgetDay: Int32 = 0
    var ordinal: Int64?
    var usedLastMinute = Nanos.zero
    var fullPrice = Nanos.zero
    var clickPrice = Nanos.zero
    var currency: Currency?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: campaign = try reader.identifier("campaign")
      case 2: advertiser = try reader.identifier("advertiser")
      case 3: budgetDay = try reader.zigzag32("budget_day")
      case 4: ordinal = try reader.integer("ordinal", in: 1...Int64.max)
      case 5: usedLastMinute = try reader.nanos("used_last_minute_nanos")
      case 6: fullPrice = try reader.nanos("full_price_nanos")
      case 7: currency = try reader.currency("currency")
      case 8: clickPrice = try reader.nanos("click_price_nanos")
      default: try reader.skip()
      }
    }
    return AllotmentAsk(
      campaign: try FieldValue.required(campaign, "campaign"),
      advertiser: try FieldValue.required(advertiser, "advertiser"), budgetDay: budgetDay,
      ordinal: try FieldValue.required(ordinal, "ordinal"), usedLastMinute: usedLastMinute, fullPrice: fullPrice,
      clickPrice: clickPrice, currency: try FieldValue.required(currency, "currency"))
  }

  private static func readReport(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> AllotmentReport {
    var report = AllotmentReport(
      allotment: 0, used: .zero, usedForClicks: .zero, closedAt: Timestamp(milliseconds: 0))
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: report.allotment = try reader.unsigned()
      case 2: report.used = try reader.nanos("used_nanos")
      case 3: report.closedAt = try reader.timestamp("closed_at_milliseconds")
      case 4: report.usedForClicks = try reader.nanos("used_for_clicks_nanos")
      default: try reader.skip()
      }
    }
    guard report.allotment != 0 else { throw Rejection(.missingField, "allotment is missing") }
    return report
  }

  package func write(to writer: inout WireWriter) {
    switch self {
    case .ask(let ask):
      writer.message(2) { writer in
        writer.text(1, ask.campaign.text)
        writer.text(2, ask.advertiser.text)
        writer.zigzag(3, Int64(ask.budgetDay))
        writer.signed(4, ask.ordinal)
        writer.signed(5, ask.usedLastMinute.value)
        writer.signed(6, ask.fullPrice.value)
        writer.text(7, ask.currency.text)
        writer.signed(8, ask.clickPrice.value)
      }
    case .report(let sequence, let report):
      writer.signed(1, sequence)
      writer.message(3) { writer in
        writer.unsigned(1, report.allotment)
        writer.signed(2, report.used.value)
        writer.signed(3, report.closedAt.milliseconds)
        writer.signed(4, report.usedForClicks.value)
      }
    case .watermark(let watermark):
      writer.message(4) { CommonFields.write(watermark, to: &$0) }
    }
  }
}
