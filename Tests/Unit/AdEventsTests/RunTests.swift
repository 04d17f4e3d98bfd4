import AdCore
import TestValues
import Testing

@testable import AdEvents

@Suite("Accepted events in runs")
struct RunTests {
  private func impression(_ serve: UInt64, _ change: (inout ServedTerms) -> Void = { _ in }) -> AcceptedImpression {
    let terms = ServedTerms.sample(serve: serve, change: change)
    return AcceptedImpression(
      terms: terms, eventTime: terms.issuedAt.advanced(byMilliseconds: 1_200),
      arrival: terms.issuedAt.advanced(byMilliseconds: 1_350))
  }

  private func encoded(_ events: [AcceptedImpression], first: Int64 = 1) -> [UInt8] {
    Sequenced.run(AcceptedRun(first: first, events: events)).encoded()
  }

  private func decode(_ bytes: [UInt8]) -> Result<Sequenced<AcceptedImpression>, Rejection> {
    bytes.withUnsafeBytes { AcceptedRecords.impressions(value: $0, headers: properHeaders(.impressionAccepted)) }
  }

  /// A run of hand-made parts.
  private func run(_ first: Int64 = 1, _ parts: (inout WireWriter) -> Void) -> [UInt8] {
    var record = WireWriter()
    record.message(1) { writer in
      writer.signed(1, first)
      parts(&writer)
    }
    return record.output
  }

  private func expectRejected(_ bytes: [UInt8], _ words: String) {
    guard case .failure(let rejection) = decode(bytes) else {
      Issue.record("it is taken")
      return
    }
    #expect(rejection.reason == .invalidInternal && rejection.detail.contains(words), "\(rejection.detail)")
  }

  @Test("An event costs about 40 bytes more, whatever its terms are: they stand once")
  func size() {
    let alone = encoded([impression(1)]).count
    let many = encoded((1...1_000).map { impression($0) }, first: .max - 2_000).count
    #expect(alone < 220)
    #expect(many <= alone + 999 * 42, "\(many)")
    #expect(many <= RunLimits.bytesMaximum)
  }

  @Test("What differs from event to event comes back as it was, in its order")
  func differences() {
    let events = (1...300 as ClosedRange<UInt64>).map { serve in
      impression(serve) { terms in
        if serve % 3 == 0 { terms.campaign = known(CampaignID("campaign-\(serve % 7)")) }
        if serve % 5 == 0 { terms.country = known(Country("DE")) }
        if serve % 4 == 0 { (terms.allotment, terms.budgetDay) = (serve, -3) }
        terms.clientHash = serve % 2 == 0 ? 0 : .max - serve
      }
    }
    #expect(decode(encoded(events, first: 77)) == .success(.run(AcceptedRun(first: 77, events: events))))
  }

  @Test("An encoder is full before a run has too many events or bytes, whatever comes last")
  func limits() {
    var encoder = RunEncoder(first: 1)
    while !encoder.isFull { encoder.append(impression(UInt64(encoder.count)).runEvent) }
    #expect(encoder.count == RunLimits.eventsMaximum)
    let longest = String(repeating: "x", count: Slug.bytesMaximum - 5)
    var wide = RunEncoder(first: .max - 1_001)
    while !wide.isFull {
      let event = impression(UInt64(wide.count)) { terms in
        let name = longest + "\(10_000 + wide.count)"
        (terms.app, terms.developer) = (known(AppID(name)), known(DeveloperID(name)))
        (terms.advertiser, terms.campaign) = (known(AdvertiserID(name)), known(CampaignID(name)))
        (terms.ad, terms.placement) = (known(AdID(name)), known(PlacementID(name)))
        (terms.impressionPrice, terms.clickPrice) = (Nanos(.max), Nanos(.max))
        (terms.allotment, terms.budgetDay, terms.clientHash, terms.isTest) = (.max, .min, .max, true)
      }
      wide.append(event.runEvent)
    }
    #expect((100...RunLimits.eventsMaximum).contains(wide.count))
    #expect(wide.encoded().count <= RunLimits.bytesMaximum)
    guard case .success(.run(let run)) = decode(wide.encoded()) else {
      Issue.record("it is not taken")
      return
    }
    #expect(run.events.count == wide.count)
  }

  @Test("A run without events, with too many, with a sequence beyond 64 bits, with places that it does not have")
  func impossible() {
    expectRejected(run { _ in }, "events is missing")
    expectRejected(run(0) { $0.message(6) { _ in } }, "first_sequence is missing")
    expectRejected(run { writer in for _ in 0...1_000 { writer.message(6) { _ in } } }, "more than 1000")
    expectRejected(run { writer in for _ in 0...1_000 { writer.message(5) { _ in } } }, "more than 1000")
    var beyond = RunEncoder(first: .max)
    beyond.append(impression(1).runEvent)
    expectRejected(beyond.encoded(), "too high")
    let id = ServedTerms.sample().serveID
    expectRejected(run { $0.message(6) { $0.uuid(1, high: id.high, low: id.low) } }, "terms names an entry")
  }

  @Test("A time beyond what there is, reached from a time that there is, is no time")
  func times() {
    for delay in [Int64.max, .min, -ServedTerms.sample().issuedAt.milliseconds - 1] {
      var event = impression(1)
      event.eventTime = Timestamp(milliseconds: event.terms.issuedAt.milliseconds &+ delay)
      expectRejected(encoded([event]), "no time from 1970 to 9999")
    }
  }
}
