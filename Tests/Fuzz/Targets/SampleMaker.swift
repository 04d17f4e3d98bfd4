import AdCore
import AdEvents
import TestValues

/// Random valid values of every message, reproducible by their seed.
package struct SampleMaker {
  private var generator: SeededChance

  package init(seed: UInt64) { generator = SeededChance(seed: seed) }

  package mutating func number(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &generator) }
  package mutating func flip() -> Bool { Bool.random(using: &generator) }
  package mutating func word() -> UInt64 { generator.next() }

  package mutating func bytes(_ range: ClosedRange<Int64>) -> [UInt8] {
    let count = number(range)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: word()) }
  }

  package mutating func slug<Entity>(_: Entity.Type = Entity.self) -> Identifier<Entity> {
    let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789".unicodeScalars)
    var text = ""
    for _ in 0..<number(1...40) { text.unicodeScalars.append(letters[Int(number(0...35))]) }
    return Identifier(text) ?? Identifier(Slug("a")!)
  }

  package mutating func text(_ range: ClosedRange<Int64> = 1...12) -> String {
    let characters: [Character] = ["a", "Z", "9", " ", "ä", "東", "\u{1F600}", "\"", "\\", "/", "\n", "<", "\u{7F}"]
    return String((0..<number(range)).map { _ in characters[Int(number(0...Int64(characters.count - 1)))] })
  }

  package mutating func texts() -> Set<String> { Set((0..<number(0...4)).map { _ in text() }) }
  package mutating func uuid() -> UUIDv7 {
    UUIDv7(timestamp: timestamp(), randomHigh: word(), randomLow: word())
  }
  package mutating func timestamp() -> Timestamp { Timestamp(milliseconds: number(0...4_102_444_800_000)) }
  package mutating func nanos() -> Nanos { Nanos(flip() ? 0 : number(0...Int64.max)) }
  package mutating func any<Value: CaseIterable>(_: Value.Type = Value.self) -> Value {
    Value.allCases.randomElement(using: &generator)!
  }
  package mutating func some<Value: CaseIterable & Hashable>(_: Value.Type = Value.self) -> Set<Value> {
    Set((0..<number(0...3)).map { _ in any() })
  }
  package mutating func country() -> Country {
    Country(code: UInt16(number(65...90)) << 8 | UInt16(number(65...90)))!
  }
  package mutating func currency() -> Currency {
    ["USD", "EUR", "JPY"].randomElement(using: &generator).flatMap { Currency($0) }!
  }
  package mutating func amount() -> Int128 { flip() ? Int128(number(0...Int64.max)) * 1_000_000_007 : 0 }
  package mutating func identity() -> EventIdentity { EventIdentity(idHash: 0, time: nil) }
  package mutating func age() -> EventAge { flip() ? .milliseconds(flip() ? 0 : number(0...Int64.max)) : .unknown }

  /// Where an image lies, with and without what it must be.
  package mutating func image() -> String {
    let contents = ImageReference.Contents(sha256: bytes(32...32), byteCount: Int(number(1...2_097_152)))
    return ImageReference(url: text(), contents: flip() ? contents : nil).text
  }

  package mutating func request() -> AdRequest {
    AdRequest(
      requestID: uuid(), appKey: text(), app: slug(), placement: slug(), clientID: flip() ? "" : text(),
      sessionID: text(), country: country(), device: any(), requiredSizes: Array(texts()),
      currentSize: flip() ? "" : text(1...9), isInterstitial: flip(), deadlineMilliseconds: number(1...60_000),
      replyPartition: 3, replyTopic: "ads.responses.app", correlationID: [1, 2, 3], segments: Array(texts()))
  }

  package mutating func response() -> AdResponse {
    let images = (0..<number(0...4)).map { _ in ServedAd.Image(size: any(), url: image()) }
    let ad = ServedAd(
      ad: slug(), token: bytes(1...300), images: images, action: AdAction(kind: any(), destination: text()),
      lifetimeMilliseconds: number(0...900_000), isTest: flip(), serveID: uuid(),
      revenue: flip() ? ServedAd.Revenue(amount: nanos(), currency: currency()) : nil, pacing: flip() ? pacing() : nil,
      countsBySession: flip())
    return AdResponse(requestID: uuid(), outcome: flip() ? .ad(ad) : .error(any(), detail: text(0...9)))
  }

  private mutating func pacing() -> AdPacing {
    AdPacing(
      refreshMilliseconds: number(1...600_000), viewMilliseconds: number(1...60_000),
      viewBasisPoints: number(1...10_000), actionMilliseconds: number(1...60_000),
      tapDelayMilliseconds: number(1...60_000))
  }

  package mutating func impression() -> ImpressionEvent {
    let kind: ImpressionEvent.Kind = any()
    let subject: ImpressionEvent.Subject =
      kind == .failed && flip()
      ? .request(
        ImpressionEvent.RequestSubject(
          requestID: uuid(), appKey: text(), app: slug(), placement: slug(), clientID: flip() ? "" : text(),
          sessionID: text()))
      : .serve(token: bytes(1...300))
    return ImpressionEvent(
      kind: kind, subject: subject, age: age(), error: kind == .failed ? any() : nil, identity: identity())
  }

  package mutating func click() -> ClickEvent {
    let kind: TapKind = any()
    let conversion =
      kind == .converted
      ? ClickEvent.Conversion(
        reference: text(), kind: any(), appKey: text(), value: nanos(), currency: currency()) : nil
    return ClickEvent(
      kind: kind, token: conversion == nil ? bytes(1...300) : [], age: age(), actionMilliseconds: number(0...5_000),
      leftApplication: flip(), conversion: conversion, identity: identity())
  }

  package mutating func terms() -> ServedTerms {
    var terms = ServedTerms.sample()
    (terms.serveID, terms.partition) = (uuid(), Int32(number(0...Int64(Int32.max))))
    (terms.issuedAt, terms.expiresAt) = (timestamp(), timestamp())
    (terms.app, terms.developer, terms.advertiser, terms.campaign, terms.ad) = (slug(), slug(), slug(), slug(), slug())
    (terms.placement, terms.country, terms.device, terms.size) = (slug(), country(), any(), any())
    (terms.impressionPrice, terms.clickPrice, terms.currency) = (nanos(), nanos(), currency())
    (terms.shareBasisPoints, terms.allotment) = (UInt16(number(0...10_000)), word())
    terms.budgetDay = Int32(number(-800_000...800_000))
    (terms.clientHash, terms.isTest) = (flip() ? 0 : word(), flip())
    return terms
  }

  /// A run of one partition, some of whose terms are the same; or a watermark.
  private mutating func sequenced<Content>(
    _ content: (inout SampleMaker, ServedTerms) -> Content
  ) -> Sequenced<Content> {
    if number(1...3) == 1 { return .watermark(watermark()) }
    let first = terms()
    let events = (0..<number(1...5)).map { _ in
      var terms = flip() ? first : self.terms()
      terms.partition = first.partition
      return content(&self, terms)
    }
    return .run(AcceptedRun(first: number(1...Int64.max - 9), events: events))
  }

  private mutating func watermark() -> Watermark {
    Watermark(
      time: timestamp(), sequence: flip() ? 0 : number(0...Int64.max),
      firstLostSequence: flip() ? 0 : number(0...Int64.max))
  }

  package mutating func acceptedImpression() -> Sequenced<AcceptedImpression> {
    sequenced { AcceptedImpression(terms: $1, eventTime: $0.timestamp(), arrival: $0.timestamp()) }
  }

  package mutating func acceptedClick() -> Sequenced<AcceptedClick> {
    sequenced {
      AcceptedClick(
        terms: $1, idHash: $0.word(), eventTime: $0.timestamp(), arrival: $0.timestamp(), verdict: $0.any())
    }
  }

  package mutating func usage() -> UsageRecord {
    if number(1...8) == 1 { return .watermark(Watermark(time: timestamp(), sequence: number(0...Int64.max))) }
    if flip() {
      return .ask(
        AllotmentAsk(
          campaign: slug(), advertiser: slug(), budgetDay: Int32(number(-9...30_000)),
          ordinal: number(1...Int64.max), usedLastMinute: nanos(), fullPrice: nanos(), clickPrice: nanos(),
          currency: currency()))
    }
    return .report(
      sequence: number(1...Int64.max),
      AllotmentReport(allotment: word() | 1, used: nanos(), usedForClicks: nanos(), closedAt: timestamp()))
  }

  package mutating func budget() -> BudgetRecord {
    if flip() { return .watermark(watermark()) }
    if flip() {
      return .refusal(
        AllotmentRefusal(
          campaign: slug(), budgetDay: Int32(number(-9...30_000)), ordinal: number(1...Int64.max),
          waitMilliseconds: number(AllotmentRefusal.waitMilliseconds)))
    }
    return .grant(
      sequence: number(1...Int64.max),
      AllotmentGrant(
        allotment: word() | 1, ordinal: number(1...Int64.max), campaign: slug(),
        budgetDay: Int32(number(-9...30_000)), amount: nanos(), serveUntil: timestamp(),
        clickRates: clickRates()))
  }

  private mutating func clickRates() -> ClickRateBounds {
    var ads: [AdID: Int64] = [:]
    for _ in 0..<number(0...3) { ads[slug()] = number(0...ClickRateEstimate.whole) }
    return ClickRateBounds(others: number(0...ClickRateEstimate.whole), ads: ads)
  }

  package mutating func rejected() -> RejectedEvent {
    RejectedEvent(
      reason: any(), detail: text(0...20), topic: "ads.clicks", partition: Int32(number(0...99)),
      offset: number(0...Int64.max), service: "/click-tracking", arrival: timestamp(), value: bytes(0...200),
      valueLength: number(-1...999), valueHash: bytes(32...32))
  }

  package mutating func catalog() -> CatalogMessage {
    switch number(0...8) {
    case 0: .deleted(key: text(), version: number(1...Int64.max))
    case 1:
      .heartbeat(
        records: number(0...999), versionSum: number(0...Int64.max), at: timestamp(),
        stop: PaidAdsStop(rawValue: UInt8(number(0...4))), change: number(0...Int64.max))
    default: .record(catalogRecord(), version: number(1...Int64.max))
    }
  }

  private mutating func catalogRecord() -> CatalogRecord {
    switch number(0...6) {
    case 0:
      .advertiser(
        Advertiser(
          id: slug(), name: text(0...9), currency: currency(), timeZone: "Asia/Tokyo", accountFunding: amount()))
    case 1: .campaign(campaign())
    case 2:
      .ad(
        Ad(
          id: slug(), campaign: slug(), images: Dictionary([(any(), image()), (any(), image())]) { first, _ in first },
          action: AdAction(kind: any(), destination: text()), lifetimeMilliseconds: number(0...900_000),
          categories: texts(), keywords: texts(), isPaused: flip()))
    case 3: .developer(Developer(id: slug(), name: text(0...9)))
    case 4:
      .app(
        App(
          id: slug(), developer: slug(), name: text(), bundleID: text(), isAgreementSigned: flip(),
          isUnder17: flip() ? nil : flip(), areAdsEnabled: flip(), categories: texts(),
          shareBasisPoints: UInt16(number(0...10_000)),
          exclusions: Exclusions(
            advertisers: [slug(), slug()], categories: texts(), keywords: texts(), hosts: texts())))
    case 6:
      .standing(
        AppStanding(
          app: slug(), offerPartsPerMillion: number(0...1_000_000), stopped: number(0...9), tapped: number(9...99)))
    case 5: .appKey(AppKey(app: slug(), build: any(), keyHash: bytes(32...32), isRevoked: flip()))
    default:
      .settings(
        NetworkSettings(
          countries: [country(), country()], testFillBasisPoints: UInt16(number(0...10_000)),
          testErrorBasisPoints: UInt16(number(0...10_000)),
          standing: StandingRules(
            days: number(1...30), priorTaps: number(0...1_000_000), toleratedBasisPoints: number(0...10_000),
            floorBasisPoints: number(0...10_000))))
    }
  }

  private mutating func campaign() -> Campaign {
    Campaign(
      id: slug(), advertiser: slug(), name: text(), kind: any(), impressionPrice: nanos(), clickPrice: nanos(),
      totalBudget: amount(), dailyBudget: flip() ? nil : amount(), flightStart: timestamp(),
      flightEnd: timestamp(), isPaused: flip(),
      targeting: Targeting(
        countries: [country()], devices: some(), sizes: some(), allowsUnder17: flip(), appCategories: texts(),
        segments: texts()))
  }
}
