internal import AdBasics

/// The message `AcceptedRun` and its parts, read in two passes: what the events name may stand behind them.
struct RunFields {
  private var first: Int64 = 0
  private var partition: Int32 = 0
  private var terms: [FrozenTerms] = []
  private var places: [RunPlace] = []
  private var budgets: [RunBudget] = []
  private var count = 0

  static func read<Content: SequencedContent>(
    _ bytes: UnsafeRawBufferPointer
  ) throws(Rejection) -> AcceptedRun<Content> {
    var fields = RunFields()
    var reader = WireReader(bytes)
    while try reader.next() { try fields.take(&reader) }
    guard fields.first > 0 else { throw Rejection(.missingField, "first_sequence is missing") }
    guard fields.count > 0 else { throw Rejection(.missingField, "events is missing") }
    guard fields.first <= .max - Int64(fields.count) else {
      throw Rejection(.invalidField, "first_sequence is too high")
    }
    var events: [Content] = []
    events.reserveCapacity(fields.count)
    reader = WireReader(bytes)
    while try reader.next() {
      if reader.field == 6 {
        events.append(try Content(try fields.event(try reader.bytes())))
      } else {
        try reader.skip()
      }
    }
    return AcceptedRun(first: fields.first, events: events)
  }

  private mutating func take(_ reader: inout WireReader) throws(Rejection) {
    switch reader.field {
    case 1: first = try reader.integer("first_sequence", in: 0...Int64.max)
    case 2: partition = Int32(try reader.integer("partition", in: 0...Int64(Int32.max)))
    case 3:
      let read = try Self.terms(try reader.bytes())
      try FieldValue.add(read, to: &terms, "terms", maximum: RunLimits.eventsMaximum)
    case 4:
      let read = try Self.place(try reader.bytes())
      try FieldValue.add(read, to: &places, "places", maximum: RunLimits.eventsMaximum)
    case 5:
      let read = try Self.budget(try reader.bytes())
      try FieldValue.add(read, to: &budgets, "budgets", maximum: RunLimits.eventsMaximum)
    case 6:
      _ = try reader.bytes()
      count += 1
      guard count <= RunLimits.eventsMaximum else {
        throw Rejection(.invalidField, "events has more than \(RunLimits.eventsMaximum) entries")
      }
    default: try reader.skip()
    }
  }

  private func event(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> RunEvent {
    var serveID: ServeID?
    var named = (terms: UInt64(0), place: UInt64(0), budget: UInt64(0))
    var delays = (issue: Int64(0), event: Int64(0), arrival: Int64(0))
    var clientHash: UInt64 = 0
    var idHash: UInt64 = 0
    var verdict: ClickVerdict?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: serveID = try reader.uuid("serve_id")
      case 2: named.terms = try reader.unsigned()
      case 3: named.place = try reader.unsigned()
      case 4: named.budget = try reader.unsigned()
      case 5: delays.issue = try reader.zigzag()
      case 6: delays.event = try reader.zigzag()
      case 7: delays.arrival = try reader.zigzag()
      case 8: clientHash = try reader.fixed64()
      case 9: idHash = try reader.fixed64()
      case 10: verdict = try reader.choice("verdict")
      default: try reader.skip()
      }
    }
    let id = try FieldValue.required(serveID, "serve_id")
    let terms = try Self.entry(named.terms, of: self.terms, "terms")
    let place = try Self.entry(named.place, of: places, "place")
    let budget = try Self.entry(named.budget, of: budgets, "budget")
    let issuedAt = try Self.time(id.timestamp, delays.issue, "issued_after_id_milliseconds")
    let eventTime = try Self.time(issuedAt, delays.event, "event_after_issue_milliseconds")
    return RunEvent(
      terms: ServedTerms(
        serveID: id, partition: partition, issuedAt: issuedAt,
        expiresAt: try Self.time(issuedAt, terms.lifeMilliseconds, "life_milliseconds"), app: terms.app,
        developer: terms.developer, advertiser: terms.advertiser, campaign: terms.campaign, ad: terms.ad,
        placement: place.placement, country: place.country, device: place.device, size: place.size,
        impressionPrice: terms.impressionPrice, clickPrice: terms.clickPrice, currency: terms.currency,
        shareBasisPoints: terms.shareBasisPoints, allotment: budget.allotment, budgetDay: budget.day,
        clientHash: clientHash, isTest: terms.isTest),
      eventTime: eventTime,
      arrival: try Self.time(eventTime, delays.arrival, "arrival_after_event_milliseconds"), idHash: idHash,
      verdict: verdict)
  }

  private static func entry<Entry>(
    _ index: UInt64, of entries: [Entry], _ name: StaticString
  ) throws(Rejection) -> Entry {
    guard index < UInt64(entries.count) else {
      throw Rejection(.invalidField, "\(name) names an entry that the run does not have")
    }
    return entries[Int(index)]
  }

  private static func time(
    _ from: Timestamp, _ delay: Int64, _ name: StaticString
  ) throws(Rejection) -> Timestamp {
    let (sum, isOver) = from.milliseconds.addingReportingOverflow(delay)
    guard !isOver, (0...FieldLimits.timestampMaximum).contains(sum) else {
      throw Rejection(.invalidField, "\(name) leads to no time from 1970 to 9999")
    }
    return Timestamp(milliseconds: sum)
  }

  // MARK: What events name

  private static func terms(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> FrozenTerms {
    var names: (app: AppID?, developer: DeveloperID?, advertiser: AdvertiserID?, campaign: CampaignID?, ad: AdID?)
    var prices = (impression: Nanos.zero, click: Nanos.zero)
    var currency: Currency?
    var shareBasisPoints: UInt16 = 0
    var lifeMilliseconds: Int64 = 0
    var isTest = false
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: names.app = try reader.identifier("app")
      case 2: names.developer = try reader.identifier("developer")
      case 3: names.advertiser = try reader.identifier("advertiser")
      case 4: names.campaign = try reader.identifier("campaign")
      case 5: names.ad = try reader.identifier("ad")
      case 6: prices.impression = try reader.nanos("impression_price_nanos")
      case 7: prices.click = try reader.nanos("click_price_nanos")
      case 8: currency = try reader.currency("currency")
      case 9: shareBasisPoints = try reader.basisPoints("share_basis_points")
      case 10: lifeMilliseconds = try reader.zigzag()
      case 11: isTest = try reader.bool()
      default: try reader.skip()
      }
    }
    return FrozenTerms(
      app: try FieldValue.required(names.app, "app"), developer: try FieldValue.required(names.developer, "developer"),
      advertiser: try FieldValue.required(names.advertiser, "advertiser"),
      campaign: try FieldValue.required(names.campaign, "campaign"), ad: try FieldValue.required(names.ad, "ad"),
      impressionPrice: prices.impression, clickPrice: prices.click,
      currency: try FieldValue.required(currency, "currency"), shareBasisPoints: shareBasisPoints,
      lifeMilliseconds: lifeMilliseconds, isTest: isTest)
  }

  private static func place(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> RunPlace {
    var placement: PlacementID?
    var country: Country?
    var device: Device?
    var size: AdSize?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: placement = try reader.identifier("placement")
      case 2: country = try reader.country("country")
      case 3: device = try reader.choice("device")
      case 4: size = try reader.choice("size")
      default: try reader.skip()
      }
    }
    return RunPlace(
      placement: try FieldValue.required(placement, "placement"),
      country: try FieldValue.required(country, "country"), device: try FieldValue.required(device, "device"),
      size: try FieldValue.required(size, "size"))
  }

  private static func budget(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> RunBudget {
    var budget = RunBudget(allotment: 0, day: 0)
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: budget.allotment = try reader.unsigned()
      case 2: budget.day = try reader.zigzag32("budget_day")
      default: try reader.skip()
      }
    }
    return budget
  }

  static func write(_ terms: FrozenTerms, to writer: inout WireWriter) {
    writer.message(3) { writer in
      writer.text(1, terms.app)
      writer.text(2, terms.developer)
      writer.text(3, terms.advertiser)
      writer.text(4, terms.campaign)
      writer.text(5, terms.ad)
      writer.signed(6, terms.impressionPrice.value)
      writer.signed(7, terms.clickPrice.value)
      writer.text(8, terms.currency)
      writer.unsigned(9, UInt64(terms.shareBasisPoints))
      writer.zigzag(10, terms.lifeMilliseconds)
      writer.bool(11, terms.isTest)
    }
  }
}
