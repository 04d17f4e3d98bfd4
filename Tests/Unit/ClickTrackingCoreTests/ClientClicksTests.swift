import AdCore
import AdEvents
import Pipeline
import Testing

@testable import ClickTrackingCore

@Suite("Clicks of one client: which are judged, and which wait for which")
struct ClientClicksTests {
  @Test(
    "M4, M7: accidental taps, however many, do not void a good one that follows, nor good ones a later accidental one",
    arguments: [true, false])
  func accidentalApart(isSeenFirst: Bool) throws {
    var tables = MemoryTables()
    let terms = try Samples.terms()
    if isSeenFirst { tables.run([Samples.impression(terms, age: 1_000)]) }
    let accidents = (1...6).map { Samples.click(terms, id: $0, age: 3_000, left: false) }
    tables.run(accidents + (7...9).map { Samples.click(terms, id: $0, age: 1_050) })
    tables.reload()
    tables.run([Samples.click(terms, id: 10, age: 5_000), Samples.click(terms, id: 11, age: 70_000)])
    if !isSeenFirst { tables.run([Samples.impression(terms, age: 1_000)]) }
    #expect(
      tables.verdicts == [
        1: .accidental, 2: .accidental, 3: .accidental, 4: .accidental, 5: .repeat, 6: .repeat, 7: .tooEarly,
        8: .tooEarly, 9: .tooEarly, 10: .billable, 11: .repeat,
      ])
    #expect(Set(tables.clicks.filter { !$0.isJudged }.map(\.accepted.idHash)) == [5, 6, 11])
    #expect(tables.parked.isEmpty)
  }

  @Test("A limit's window reaches as far back and ahead as it is long, however long before its click an ad was served")
  func history() throws {
    var windows = Windows()
    windows.clickLimits = [ClickLimit(clicks: 1, windowMilliseconds: 24 * 3_600_000)]
    windows.issuedBeforeArrivalMilliseconds = 20 * 3_600_000
    // An ad served at 0, clicked at 75 min; within 24 h of that another is served and clicked, or was long before.
    let first = try Samples.terms(serve: 1)
    for (issued, arrival) in [(24 * 3_600_000 + 4_495_000, 26), (-16 * 3_600_000, 3)] as [(Int64, Int64)] {
      var tables = MemoryTables(windows: windows)
      tables.arrival = Samples.now.advanced(byMilliseconds: 2 * 3_600_000)
      tables.run([Samples.impression(first, age: 900_000), Samples.click(first, id: 1, age: 4_500_000)])
      let second = try Samples.terms(serve: 2, issuedMilliseconds: issued)
      tables.arrival = Samples.now.advanced(byMilliseconds: arrival * 3_600_000)
      tables.run([Samples.impression(second, age: 1_000), Samples.click(second, id: 2, age: 4_999)])
      #expect(tables.verdicts == [1: .billable, 2: .limited])
    }
  }

  @Test("B8: a click waits for an earlier one on which its limit depends, and is decided with it")
  func waitsForEarlier() throws {
    var tables = MemoryTables()
    let first = try Samples.terms(serve: 1)
    let second = try Samples.terms(serve: 2)
    tables.run([Samples.click(first, id: 1, age: 3_000)])
    let decision = tables.run([Samples.impression(second, age: 1_000), Samples.click(second, id: 2, age: 4_000)])
    #expect(decision.outcomes == [.accepted, .parked])
    tables.reload()
    tables.run([Samples.impression(first, age: 1_000)])
    #expect(tables.verdicts == [1: .billable, 2: .limited])
    #expect(tables.clicks.map(\.wasParked) == [true, true])
    #expect(tables.parked.isEmpty)
  }

  @Test("M5, B8: a click whose view never comes does not count, and what waited for it is decided then")
  func waitsForNothing() throws {
    var tables = MemoryTables()
    let first = try Samples.terms(serve: 1)
    let second = try Samples.terms(serve: 2)
    tables.run([Samples.click(first, id: 1, age: 3_000)])
    tables.run([Samples.impression(second, age: 1_000), Samples.click(second, id: 2, age: 4_000)])
    #expect(tables.verdicts.isEmpty)
    tables.consumedWatermark = tables.windows.lastImpressionArrival(expiresAt: first.expiresAt).advanced(
      byMilliseconds: 1)
    tables.reload()
    tables.run([], isLost: true)
    tables.passTime()
    #expect(tables.verdicts == [1: .noImpression, 2: .billable])
    #expect(tables.parked.isEmpty)
    #expect(!tables.decider.isTimerDue(tables.context()))
  }

  @Test("A click waits for no earlier one that cannot count, nor for one that leaves room, nor for a later one")
  func doesNotWait() throws {
    var tables = MemoryTables()
    func terms(_ serve: UInt64) throws -> ServedTerms { try Samples.terms(serve: serve) }
    // Counts; the second is too near to it to count, whatever its view says; the third is an accident.
    tables.run([Samples.impression(try terms(1), age: 1_000), Samples.click(try terms(1), id: 1, age: 3_000)])
    tables.run([Samples.click(try terms(2), id: 2, age: 62_000)])
    tables.run([Samples.click(try terms(3), id: 3, age: 70_000, left: false)])
    let near = try terms(4)
    tables.run([Samples.impression(near, age: 1_000), Samples.click(near, id: 4, age: 71_000)])
    #expect(tables.verdicts == [1: .billable, 4: .billable])
    // The fifth may count; the sixth, ten minutes later, has room all the same.
    tables.run([Samples.click(try terms(5), id: 5, age: 140_000)])
    let far = try terms(6)
    tables.run([Samples.impression(far, age: 1_000), Samples.click(far, id: 6, age: 800_000)])
    #expect(tables.verdicts == [1: .billable, 4: .billable, 6: .billable])
    // Decided late, the fifth does not see the sixth nor what came after it.
    let close = try Samples.terms(serve: 7)
    tables.run([Samples.impression(close, age: 1_000), Samples.click(close, id: 7, age: 150_000)])
    tables.run([Samples.impression(try terms(5), age: 1_000)])
    #expect(tables.verdicts == [1: .billable, 4: .billable, 5: .billable, 6: .billable, 7: .limited])
  }

  @Test("A2: test traffic and live traffic of one client id have limits of their own")
  func testTraffic() throws {
    var tables = MemoryTables()
    var test = try Samples.terms(serve: 1)
    test.isTest = true
    let live = try Samples.terms(serve: 2)
    tables.run([Samples.impression(test, age: 1_000), Samples.click(test, id: 1, age: 3_000)])
    // One that may never be seen holds nobody of the other kind.
    var unseen = try Samples.terms(serve: 3)
    unseen.isTest = true
    tables.run([Samples.click(unseen, id: 3, age: 3_500)])
    tables.run([Samples.impression(live, age: 1_000), Samples.click(live, id: 2, age: 4_000)])
    #expect(tables.verdicts == [1: .billable, 2: .billable])
  }

  @Test("B8: so many clicks of a client are judged in a day; later ones are limited at once, whatever waits")
  func judgedPerDay() throws {
    var windows = Windows()
    windows.judgedClicksOfClientPerDay = 6
    var tables = MemoryTables(windows: windows)
    // Four of each serve, no view, half of them by accident: ten accidents, ten others.
    let clicks = try (1...20).map { number in
      Samples.click(
        try Samples.terms(serve: (number + 3) / 4), id: number, age: 3_000, left: number % 2 == 0)
    }
    for click in clicks { tables.run([click]) }
    #expect(tables.verdicts == Dictionary(uniqueKeysWithValues: (13...20).map { ($0, ClickVerdict.limited) }))
    #expect(tables.parked.map(\.idHash) == Array(1...12))
    // Another client and another day have their own, and what is refused takes no room on another ad.
    let other = try Samples.terms(serve: 21, client: 2)
    let tomorrow = try Samples.terms(serve: 22, issuedMilliseconds: 12 * 3_600_000)
    let tonight = try Samples.terms(serve: 23, issuedMilliseconds: 12 * 3_600_000 - 1)
    tables.arrival = Samples.now.advanced(byMilliseconds: 13 * 3_600_000)
    tables.reload()
    let decision = tables.run(
      [other, tomorrow, tonight].map { Samples.click($0, id: $0.serveID.low & 0xFF, age: 3_000) })
    #expect(decision.outcomes == [.parked, .parked, .free(.limited)])
  }
}
