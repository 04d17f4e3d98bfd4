import TestValues
import Testing

@testable import AdBasics
@testable import AdCore

private let second: Int64 = 1_000
private let minute: Int64 = 60_000
private let hour: Int64 = 3_600_000

private func moment(_ milliseconds: Int64) -> Timestamp { Samples.now.advanced(byMilliseconds: milliseconds) }

@Suite("The windows that judge an event")
struct EventTimingTests {
  private let windows = Windows()

  /// Judges an event of a token issued at 0 that lives 15 minutes; all times relative to that.
  private func judge(
    _ subject: EventTiming.Subject = .impression, age: Int64?, claimed: Int64? = nil, arrival: Int64
  ) -> EventTiming {
    EventTiming.judge(
      subject, issuedAt: moment(0), expiresAt: moment(15 * minute), ageMilliseconds: age,
      claimedTime: claimed.map(moment), arrival: moment(arrival), windows: windows)
  }

  @Test("Event time is issued-at + age, whatever the client's clock says")
  func age() {
    #expect(judge(age: 1_000, arrival: 1_200) == .at(moment(1_000)))
    #expect(judge(age: 1_000, claimed: 900_000, arrival: 1_200) == .at(moment(1_000)))
    #expect(judge(age: -5, arrival: 1_200) == .at(moment(0)))
  }

  @Test(
    "Without an age the claimed time counts, held between issued-at and arrival",
    arguments: [(5_000, 5_000), (-1, 0), (.min, 0), (9_999, 9_999), (10_000, 10_000), (10_001, 10_000)]
      as [(Int64, Int64)])
  func claimed(claimed: Int64, time: Int64) {
    #expect(judge(age: nil, claimed: claimed, arrival: 10_000) == .at(moment(time)))
  }

  @Test("Without any time the arrival counts, but no moment before issued-at")
  func neither() {
    #expect(judge(age: nil, arrival: 10_000) == .at(moment(10_000)))
    #expect(judge(age: nil, arrival: -3_000) == .at(moment(0)))
    #expect(judge(age: nil, claimed: -4_000, arrival: -3_000) == .at(moment(0)))
  }

  @Test("I1: an impression is expired one millisecond after the token's life")
  func expiry() {
    #expect(judge(age: 15 * minute, arrival: 15 * minute) == .at(moment(15 * minute)))
    #expect(judge(age: 15 * minute + 1, arrival: 15 * minute + 1) == .expired)
    #expect(judge(age: .max, arrival: 15 * minute) == .expired)
    #expect(judge(age: nil, claimed: 15 * minute + 1, arrival: hour) == .expired)
  }

  @Test("A click may come the longest tap delay after the token's life, and not later")
  func clickExpiry() {
    #expect(judge(.click, age: 75 * minute, arrival: 75 * minute) == .at(moment(75 * minute)))
    #expect(judge(.click, age: 75 * minute + 1, arrival: 75 * minute + 1) == .expired)
  }

  @Test("No event time lies more than 5 s after its arrival")
  func future() {
    #expect(judge(age: 15 * second, arrival: 10 * second) == .at(moment(15 * second)))
    #expect(judge(age: 15 * second + 1, arrival: 10 * second) == .inFuture(milliseconds: 5 * second + 1))
  }

  @Test("An event may come up to 24 h late, to the millisecond")
  func late() {
    #expect(judge(age: second, arrival: 24 * hour + second) == .at(moment(second)))
    #expect(judge(age: second, arrival: 24 * hour + second + 1) == .tooLate)
  }

  @Test("Issued-at lies between arrival - 26 h and arrival + 5 s")
  func issuedAt() {
    #expect(judge(.click, age: 75 * minute, arrival: 26 * hour) == .tooLate)
    #expect(judge(age: 0, arrival: 26 * hour) == .tooLate)
    #expect(judge(age: 0, arrival: 26 * hour + 1) == .tokenOutOfTime)
    #expect(judge(age: 0, arrival: -5 * second) == .at(moment(0)))
    #expect(judge(age: 0, arrival: -5 * second - 1) == .tokenOutOfTime)
  }

  @Test("Times at the ends of what a number holds are judged, not trapped on")
  func extremes() {
    for issuedAt in [Int64.min, 0, .max] {
      for arrival in [Int64.min, 0, .max] {
        for age in [Int64.min, 0, .max] {
          let timing = EventTiming.judge(
            .click, issuedAt: Timestamp(milliseconds: issuedAt), expiresAt: Timestamp(milliseconds: .max),
            ageMilliseconds: age, claimedTime: nil, arrival: Timestamp(milliseconds: arrival), windows: windows)
          #expect((timing == .tokenOutOfTime) == (issuedAt != arrival))
        }
      }
    }
  }
}

@Suite("Token life, taps, accidents")
struct WindowRuleTests {
  private let windows = Windows()

  @Test(
    "A banner's token lives 15 min, an interstitial's its content's life (D5) + 5 min",
    arguments: [
      (AdFormat.banner, 5 * minute, 15 * minute), (.banner, 15 * minute, 15 * minute),
      (.interstitial, 5 * minute, 10 * minute), (.interstitial, 15 * minute, 20 * minute),
      (.interstitial, 5 * minute - 1, 10 * minute), (.interstitial, 15 * minute + 1, 20 * minute),
    ])
  func tokenLife(format: AdFormat, content: Int64, life: Int64) {
    #expect(windows.tokenLifeMilliseconds(format: format, contentLifeMilliseconds: content) == life)
    #expect(windows.longestTokenLifeMilliseconds == 20 * minute)
  }

  @Test("The last arrivals follow from expiry, late arrival and the longest tap delay")
  func lastArrivals() {
    #expect(windows.lastImpressionArrival(expiresAt: moment(0)) == moment(24 * hour))
    #expect(windows.lastClickArrival(expiresAt: moment(0)) == moment(25 * hour))
  }

  @Test("B8: nobody has seen an ad that was answered less than a second ago", arguments: [(999, true), (1_000, false)])
  func views(age: Int64, isImpossible: Bool) {
    #expect(windows.isImpossibleView(ageMilliseconds: age) == isImpossible)
  }

  @Test(
    "M5, B8: a tap earns from 100 ms to 1 h after the impression; before its second on screen it cannot be",
    arguments: [
      (99, TapTiming.tooEarly), (100, .inTime), (hour, .inTime), (hour + 1, .tooLate), (-1, .tooEarly),
      (-1_000, .tooEarly), (-1_001, .impossible), (.min, .impossible), (.max, .tooLate),
    ] as [(Int64, TapTiming)])
  func taps(delay: Int64, timing: TapTiming) {
    #expect(windows.tapTiming(impressionAt: moment(0), tapAt: moment(delay)) == timing)
  }

  @Test(
    "M7: an action over within 2 s without leaving the application is an accident",
    arguments: [
      (0, false, true), (1_999, false, true), (2_000, false, false), (2_001, false, false), (0, true, false),
      (1_999, true, false),
    ])
  func accidents(milliseconds: Int64, leftApplication: Bool, isAccidental: Bool) {
    #expect(
      windows.isAccidental(actionMilliseconds: milliseconds, leftApplication: leftApplication) == isAccidental)
  }
}

@Suite("Click limits")
struct ClickLimitTests {
  private let windows = Windows()

  @Test("The limits are 1 a minute, 3 in 10 minutes, 10 an hour, 25 a day")
  func defaults() {
    let expected = [(1, minute), (3, 10 * minute), (10, hour), (25, 24 * hour)]
    #expect(windows.clickLimits == expected.map { ClickLimit(clicks: $0, windowMilliseconds: $1) })
    #expect(windows.clickHistoryMilliseconds == 24 * hour)
  }

  @Test("A second click counts a whole minute before or after the first, not a millisecond less")
  func minuteLimit() {
    for (distance, isAdmitted) in [(minute, true), (minute - 1, false), (0, false)] {
      for sign: Int64 in [-1, 1] {
        let reached = windows.clickLimitReached(at: moment(sign * distance), counted: [moment(0)])
        #expect((reached == nil) == isAdmitted)
      }
    }
  }

  @Test(
    "As many clicks as a limit says fit its window and one more does not",
    arguments: [(3, 10 * minute), (10, hour), (25, 24 * hour)])
  func limit(clicks: Int, window: Int64) {
    let limit = ClickLimit(clicks: clicks, windowMilliseconds: window)
    let counted = (0..<Int64(clicks)).map { moment($0 * minute) }
    #expect(limit.admits(moment(-1), counted: Array(counted.dropLast())))
    #expect(!limit.admits(moment(window - 1), counted: counted))
    #expect(limit.admits(moment(window), counted: counted))
    #expect(!limit.admits(moment(30 * second), counted: counted))
    let beforeAll = moment(Int64(clicks - 1) * minute - window)
    #expect(limit.admits(beforeAll, counted: counted))
    #expect(!limit.admits(beforeAll.advanced(byMilliseconds: 1), counted: counted))
  }

  @Test("In any order of clicks no window ever holds more than its limit, and what is refused would have broken one")
  func property() {
    var random = SeededChance(seed: 7)
    for _ in 0..<200 {
      let limit = ClickLimit(clicks: 1 + Int(random.next() % 4), windowMilliseconds: 1 + Int64(random.next() % 50))
      var counted: [Timestamp] = []
      for _ in 0..<40 {
        let time = moment(Int64(random.next() % 200))
        let all = (counted + [time]).sorted()
        let holds = all.allSatisfy { start in
          all.filter { $0 >= start && $0.milliseconds(since: start) < limit.windowMilliseconds }.count <= limit.clicks
        }
        #expect(limit.admits(time, counted: counted) == holds)
        if holds { counted = all }
      }
      #expect(!counted.isEmpty)
    }
  }

  @Test("A limit of no clicks admits none")
  func none() {
    #expect(!ClickLimit(clicks: 0, windowMilliseconds: 1).admits(moment(0), counted: []))
  }
}
