import AdCore
import AdEvents
import Pipeline
import Testing

@testable import ClickTrackingCore

@Suite("What a click is worth")
struct ClickDeciderTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var viewAge: Int64 = 1_000
    var tapAge: Int64 = 3_000
    var actionMilliseconds: Int64 = 0
    var leftApplication = true
    let verdict: ClickVerdict
  }

  private static let cases = [
    Case(testDescription: "M2: a tap that leaves the application", verdict: .billable),
    Case(
      testDescription: "M7: an action of 2 s", actionMilliseconds: 2_000, leftApplication: false, verdict: .billable),
    Case(
      testDescription: "M7: an action of less", actionMilliseconds: 1_999, leftApplication: false,
      verdict: .accidental),
    Case(
      testDescription: "M7 comes before M5", tapAge: 1_000, actionMilliseconds: 0, leftApplication: false,
      verdict: .accidental),
    Case(testDescription: "100 ms after the impression", tapAge: 1_100, verdict: .billable),
    Case(testDescription: "99 ms after the impression", tapAge: 1_099, verdict: .tooEarly),
    Case(testDescription: "before the impression", tapAge: 500, verdict: .tooEarly),
    Case(testDescription: "B8: before its second on screen", viewAge: 9_000, tapAge: 7_999, verdict: .impossible),
    Case(
      testDescription: "B8 comes before M7", viewAge: 9_000, tapAge: 7_999, actionMilliseconds: 0,
      leftApplication: false, verdict: .impossible),
    Case(testDescription: "within that second", viewAge: 9_000, tapAge: 8_000, verdict: .tooEarly),
    Case(testDescription: "1 h after the impression", tapAge: 3_601_000, verdict: .billable),
    Case(testDescription: "later than that", tapAge: 3_601_001, verdict: .tooLate),
  ]

  @Test("The verdict is the same whether the impression comes before, in the same batch, or after", arguments: cases)
  func verdict(_ example: Case) throws {
    let terms = try Samples.terms()
    let click = Samples.click(
      terms, id: 1, age: example.tapAge, action: example.actionMilliseconds, left: example.leftApplication)
    let shown = Samples.impression(terms, age: example.viewAge)
    for batches in [[[shown], [click]], [[shown, click]], [[click, shown]], [[click], [shown]]] {
      var tables = MemoryTables()
      tables.arrival = Samples.now.advanced(byMilliseconds: 3_700_000)
      for batch in batches { tables.run(batch) }
      #expect(tables.verdicts == [1: example.verdict])
      #expect(tables.parked.isEmpty)
    }
  }

  @Test("I3: a click's outcome says what became of it")
  func outcomes() throws {
    var tables = MemoryTables()
    let terms = try Samples.terms()
    let other = try Samples.terms(serve: 2, client: 2)
    let decision = tables.run([
      Samples.impression(terms, age: 1_000), Samples.click(terms, id: 1, age: 3_000),
      Samples.click(terms, id: 1, age: 3_000), Samples.click(terms, id: 2, age: 9_000),
      Samples.click(other, id: 3, age: 3_000), Samples.click(other, id: 3, age: 3_000),
      Samples.click(terms, id: 4, age: 9_000, left: false),
    ])
    #expect(
      decision.outcomes == [
        .accepted, .accepted, .duplicate, .free(.repeat), .parked, .duplicate, .free(.accidental),
      ])
    #expect(decision.effects.clicks.map(\.sequence) == [1, 2, 3])
    #expect(decision.messages.map { $0.firstSequence...$0.sequence } == [1...3])
    #expect(tables.run([Samples.click(other, id: 3, age: 3_000)]).outcomes == [.duplicate])
    #expect(tables.run([Samples.click(terms, id: 4, age: 3_000)]).outcomes == [.duplicate])
  }

  @Test("M4: the first four clicks of a serve are decided, and later ones are repeats at once, whatever is parked")
  func firstFour() throws {
    var tables = MemoryTables()
    let terms = try Samples.terms()
    tables.run((1...3).map { Samples.click(terms, id: $0, age: 1_050) })
    let decision = tables.run((4...6).map { Samples.click(terms, id: $0, age: 3_000) })
    #expect(decision.outcomes == [.parked, .free(.repeat), .free(.repeat)])
    #expect(tables.verdicts == [5: .repeat, 6: .repeat])
    tables.run([Samples.impression(terms, age: 1_000)])
    #expect(
      tables.verdicts == [1: .tooEarly, 2: .tooEarly, 3: .tooEarly, 4: .billable, 5: .repeat, 6: .repeat])
    #expect(tables.clicks.map(\.wasParked) == [false, false, true, true, true, true])
    #expect(tables.run([Samples.click(terms, id: 7, age: 3_000)]).outcomes == [.free(.repeat)])
  }

  @Test("M5: clicks without an impression end once its watermark has passed the last moment it could come")
  func noImpression() throws {
    var tables = MemoryTables()
    let terms = try Samples.terms()
    let last = tables.windows.lastImpressionArrival(expiresAt: terms.expiresAt)
    tables.run([Samples.click(terms, id: 1, age: 3_000), Samples.click(terms, id: 2, age: 3_000, left: false)])
    tables.consumedWatermark = last
    #expect(!tables.decider.isTimerDue(tables.context()))
    tables.consumedWatermark = last.advanced(byMilliseconds: 1)
    #expect(tables.decider.isTimerDue(tables.context()))
    tables.run([], isLost: true)
    #expect(tables.decider.isTimerDue(tables.context()))
    tables.reload()
    #expect(tables.decider.isTimerDue(tables.context()))
    tables.passTime()
    #expect(tables.verdicts == [1: .noImpression, 2: .noImpression])
    #expect(tables.parked.isEmpty)
    #expect(!tables.decider.isTimerDue(tables.context()))
  }

  @Test("Parked clicks whose impression came do not keep the timer due for ever")
  func timerRests() throws {
    var tables = MemoryTables()
    let terms = try Samples.terms()
    tables.run([Samples.click(terms, id: 1, age: 3_000)])
    tables.run([Samples.impression(terms, age: 1_000)])
    #expect(tables.parked.isEmpty)
    tables.consumedWatermark = Samples.now.advanced(byMilliseconds: 30 * 3_600_000)
    tables.run([])
    #expect(!tables.decider.isTimerDue(tables.context()))
  }

  @Test("An ad on which nothing waits, for its commit failed, does not keep the timer due for ever")
  func timerForgets() throws {
    var tables = MemoryTables()
    tables.run([])
    tables.run([Samples.click(try Samples.terms(), id: 1, age: 3_000)], isLost: true)
    tables.consumedWatermark = Samples.now.advanced(byMilliseconds: 30 * 3_600_000)
    #expect(tables.decider.isTimerDue(tables.context()))
    tables.run([])
    #expect(!tables.decider.isTimerDue(tables.context()))
  }

  @Test("One batch of the timer gives up a bounded number of serves, the next ones follow")
  func boundedTimer() throws {
    var tables = MemoryTables()
    let count = ClickDecider.clientsMaximum + 1
    tables.run(
      try (1...UInt64(count)).map { Samples.click(try Samples.terms(serve: $0, client: $0), id: $0, age: 3_000) })
    tables.consumedWatermark = Samples.now.advanced(byMilliseconds: 30 * 3_600_000)
    tables.run([])
    #expect(tables.clicks.count == ClickDecider.clientsMaximum)
    #expect(tables.decider.isTimerDue(tables.context()))
    tables.run([])
    #expect(tables.clicks.count == count)
    #expect(!tables.decider.isTimerDue(tables.context()))
  }

  @Test("One batch asks of a bounded number of clients and converted ads, whatever else is in it")
  func boundedBatch() throws {
    var tables = MemoryTables()
    let most = ClickDecider.clientsMaximum
    func count(_ events: [ClickInput]) -> Int { tables.decider.countTogether(tables.records(events)[...]) }
    let clicks = try (1...UInt64(most + 5)).map {
      Samples.click(try Samples.terms(serve: $0, client: $0), id: $0, age: 3_000)
    }
    let views = try (1...UInt64(most + 5)).map {
      Samples.impression(try Samples.terms(serve: $0, client: $0), age: 1_000)
    }
    let again = Array(repeating: clicks[0], count: 500)
    #expect(count(again + clicks) == 500 + most && count(clicks.map { $0 }) == most)
    let stopped = Array(repeating: Samples.click(try Samples.terms(), id: 1, age: 3_000, kind: .blocked), count: 500)
    #expect(count(stopped) == 500)
    #expect(count(views) == most, "which of them are waited for is not known yet")
    tables.run([])
    #expect(count(views) == views.count, "nobody waits")
    tables.run(Array(clicks.prefix(most)))
    #expect(count(views) == views.count)
    tables.run(Array(clicks.suffix(5)))
    #expect(count(views) == most)
  }

  @Test("Click limits go by event time, in the order of offsets, and only clicks that count weigh")
  func limits() throws {
    var tables = MemoryTables()
    // Event times in seconds, in the order of offsets, all of one client.
    let taps: [(second: Int64, verdict: ClickVerdict)] = [
      (600, .billable), (659, .limited), (660, .billable), (541, .limited), (540, .billable), (1_139, .limited),
      (1_199, .billable),
    ]
    for (index, tap) in taps.enumerated() {
      let terms = try Samples.terms(serve: UInt64(index + 1), issuedMilliseconds: tap.second * 1_000 - 3_000)
      tables.run([Samples.impression(terms, age: 1_000), Samples.click(terms, id: UInt64(index), age: 3_000)])
    }
    #expect(tables.clicks.map(\.accepted.verdict) == taps.map(\.verdict))
    let other = try Samples.terms(serve: 99, client: 2, issuedMilliseconds: 600_000 - 3_000)
    tables.run([Samples.impression(other, age: 1_000), Samples.click(other, id: 99, age: 3_000)])
    #expect(tables.verdicts[99] == .billable)
  }

  @Test("A7, D7, D9: blocked and cancelled actions are counted once and are no clicks", arguments: [2, 3] as [UInt8])
  func stopped(_ number: UInt8) throws {
    var tables = MemoryTables()
    let kind = try #require(TapKind(rawValue: number))
    let terms = try Samples.terms()
    let event = Samples.click(terms, id: 1, age: 3_000, kind: kind)
    #expect(tables.run([event, event]).outcomes == [.accepted, .duplicate])
    #expect(tables.run([event]).outcomes == [.duplicate])
    #expect(tables.clicks.isEmpty && tables.parked.isEmpty)
    #expect(tables.stopped.count == 1)
    let minute = AdMinute(of: terms, time: Samples.now.advanced(byMilliseconds: 3_000))
    #expect(tables.counts == [ClickMinuteKey(kind: kind, verdict: nil, minute): 1])
  }

  @Test("I1: a click outside its token's times is rejected")
  func timing() throws {
    var tables = MemoryTables()
    let terms = try Samples.terms()
    tables.arrival = Samples.now.advanced(byMilliseconds: 5_000_000)
    let decision = tables.run([
      Samples.click(terms, id: 1, age: 4_500_001), Samples.click(terms, id: 2, age: 4_500_000),
      Samples.click(terms, id: 3, age: 6_000_000, kind: .blocked), .rejected(Rejection(.tokenForged, "forged")),
    ])
    #expect(
      decision.outcomes == [
        .rejected(.tokenExpired), .parked, .rejected(.tokenExpired), .rejected(.tokenForged),
      ])
    #expect(decision.rejections.map(\.record) == [0, 2, 3])
    tables.arrival = Samples.now.advanced(byMilliseconds: -6_000)
    #expect(tables.run([Samples.click(terms, id: 4, age: 0)]).outcomes == [.rejected(.tokenOutOfTime)])
  }

  @Test("The signed partition decides; a partition that is not there is refused")
  func forwarding() throws {
    var tables = MemoryTables()
    let decision = tables.run([
      Samples.click(try Samples.terms(partition: 3), id: 1, age: 3_000),
      Samples.click(try Samples.terms(partition: 12), id: 2, age: 3_000),
      Samples.impression(try Samples.terms(partition: 3), age: 1_000),
    ])
    #expect(
      decision.outcomes == [.forwarded, .rejected(.unknownPartition), .rejected(.invalidInternal)])
    #expect(decision.forwards == [.init(record: 0, topic: "ads.clicks", partition: 3, headers: [])])
  }

  @Test("One token's taps sent to the wrong partition again and again are sent on a few times, then rejected")
  func sentAstrayAgain() throws {
    var tables = MemoryTables()
    let terms = try Samples.terms(partition: 3)
    let decision = tables.run((1...100).map { Samples.click(terms, id: $0, age: 3_000) })
    let most = ForwardLimit.ofOneMaximum
    #expect(decision.forwards.count == most)
    #expect(decision.outcomes.suffix(100 - most).allSatisfy { $0 == .rejected(.forwardedTooOften) })
    #expect(tables.run([Samples.click(terms, id: 101, age: 3_000)]).forwards.isEmpty)
  }

  @Test("A record that the database refuses is put aside and changes nothing")
  func refused() throws {
    var tables = MemoryTables()
    let terms = try Samples.terms()
    let decision = tables.run([Samples.click(terms, id: 1, age: 3_000)], isRefused: true)
    #expect(decision.outcomes == [.rejected(.refusedByDatabase)])
    #expect(tables.parked.isEmpty && tables.clicks.isEmpty && tables.counts.isEmpty)
  }

  @Test("An impression costs a look-up only where a click waits for it")
  func lookups() throws {
    var tables = MemoryTables()
    let terms = try Samples.terms()
    let other = try Samples.terms(serve: 2)
    tables.run([Samples.click(terms, id: 1, age: 3_000)])
    func query(_ event: ClickInput) -> ClickQuery? {
      tables.decider.query(
        for: [
          InputRecord(
            input: 1, offset: 0, timestamp: 0, arrival: tables.arrival, sequence: .number(1), event: event,
            contentHash: 0,
            raw: RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0))
        ], context: tables.context())
    }
    #expect(query(Samples.impression(other, age: 1_000)) == nil)
    #expect(query(Samples.impression(terms, age: 1_000))?.waitedFor == [terms.serveID])
    tables.run([Samples.impression(terms, age: 1_000)])
    #expect(query(Samples.impression(terms, age: 1_000)) == nil)
  }
}
