import AdCore
import AdEvents
import Pipeline
import TestValues
import Testing

@testable import ClickTrackingCore

@Suite("B8, M4, M5, M7: one result, whatever the order and timing of views, batches and restarts")
struct LimitOrderTests {
  /// When three taps of one client happened, in seconds; on which ads; which ads are never seen; which one slipped.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let seconds: [Int64]
    var ads: [UInt64] = [1, 2, 3]
    var unseen: Set<UInt64> = []
    var accidental: Int?
    let verdicts: [ClickVerdict]
  }

  private static let cases = [
    Case(testDescription: "all in a minute", seconds: [10, 11, 12], verdicts: [.billable, .limited, .limited]),
    Case(
      testDescription: "the second between the first and the third", seconds: [10, 69, 71],
      verdicts: [.billable, .limited, .billable]),
    Case(
      testDescription: "the first is late by event time", seconds: [71, 10, 69],
      verdicts: [.billable, .billable, .limited]),
    Case(
      testDescription: "the first is never seen", seconds: [10, 11, 12], unseen: [1],
      verdicts: [.noImpression, .billable, .limited]),
    Case(
      testDescription: "the first two are never seen", seconds: [10, 11, 12], unseen: [1, 2],
      verdicts: [.noImpression, .noImpression, .billable]),
    Case(
      testDescription: "the second is never seen", seconds: [10, 100, 130], unseen: [2],
      verdicts: [.billable, .noImpression, .billable]),
    Case(
      testDescription: "the first is an accident", seconds: [10, 11, 12], accidental: 0,
      verdicts: [.accidental, .billable, .limited]),
    Case(
      testDescription: "two on one ad", seconds: [10, 11, 75], ads: [1, 2, 1], verdicts: [.billable, .limited, .repeat]),
    Case(
      testDescription: "two on one ad, another one before them", seconds: [10, 11, 75], ads: [1, 2, 2],
      verdicts: [.billable, .limited, .billable]),
    Case(
      testDescription: "two on one ad, the one before them never seen", seconds: [10, 11, 75], ads: [1, 2, 2],
      unseen: [1], verdicts: [.noImpression, .billable, .repeat]),
  ]

  @Test("Three taps: all orders of views among them, all cuts into batches, a new owner after each", arguments: cases)
  func everyOrder(_ example: Case) throws {
    let taps = try zip(example.ads, example.seconds).enumerated().map { index, tap in
      Tap(
        terms: try Samples.terms(serve: tap.0), id: UInt64(index + 1), age: tap.1 * 1_000,
        hasLeft: index != example.accidental)
    }
    let seen = Set(example.ads).subtracting(example.unseen).sorted()
    let views = try seen.map { Samples.impression(try Samples.terms(serve: $0), age: 1_000) }
    let expected = Dictionary(uniqueKeysWithValues: zip(1...3 as ClosedRange<UInt64>, example.verdicts))
    var differences: [String] = []
    var runs = 0
    for order in interleavings(taps.map(\.event)[...], permutations(views)) {
      for cuts in 0..<(1 << (order.count - 1)) {
        let verdicts = run(order, cuts: cuts)
        runs += 1
        if verdicts != expected { differences.append("\(cuts): \(verdicts)") }
      }
    }
    #expect(differences.prefix(3).isEmpty)
    #expect(runs >= (seen.isEmpty ? 4 : 20))
  }

  /// Runs the events in batches, with a cut behind each event whose bit is set and a new owner there; then the watermark
  /// passes everything.
  private func run(_ events: [ClickInput], cuts: Int) -> [UInt64: ClickVerdict] {
    var tables = MemoryTables()
    var batch: [ClickInput] = []
    for (index, event) in events.enumerated() {
      batch.append(event)
      guard index == events.count - 1 || cuts >> index & 1 == 1 else { continue }
      tables.run(batch)
      tables.reload()
      batch = []
    }
    tables.consumedWatermark = Samples.now.advanced(byMilliseconds: 30 * 3_600_000)
    tables.passTime()
    #expect(tables.parked.isEmpty)
    return tables.verdicts
  }

  /// All ways to merge a fixed order of taps with one of the orders of the views.
  private func interleavings(_ taps: ArraySlice<ClickInput>, _ orders: [[ClickInput]]) -> [[ClickInput]] {
    func merge(_ taps: ArraySlice<ClickInput>, _ views: ArraySlice<ClickInput>) -> [[ClickInput]] {
      guard let tap = taps.first else { return [Array(views)] }
      guard let view = views.first else { return [Array(taps)] }
      return merge(taps.dropFirst(), views).map { [tap] + $0 } + merge(taps, views.dropFirst()).map { [view] + $0 }
    }
    return orders.flatMap { merge(taps, $0[...]) }
  }

  @Test(
    "Taps of several clients on many ads at random agree with the rule as the events alone tell it",
    arguments: 0..<300 as Range<UInt64>)
  func random(seed: UInt64) throws {
    var random = SeededChance(seed: 77_000 + seed)
    var windows = Windows()
    windows.judgedClicksOfClientPerDay = [3, 8, 100][Int(seed % 3)]
    let traffic = try Traffic(using: &random)
    let expected = CanonicalModel(traffic.taps, views: traffic.views, windows: windows).verdicts
    for _ in 0..<4 {
      let tables = run(traffic, windows: windows, using: &random)
      #expect(tables.verdicts == expected)
      #expect(tables.parked.isEmpty)
      #expect(tables.clicks.map(\.sequence) == Array(1...Int64(tables.clicks.count)))
      var counted: [ClickVerdict: Int64] = [:]
      for (key, count) in tables.counts {
        if let verdict = key.verdict { counted[verdict, default: 0] += count }
      }
      #expect(counted == Dictionary(grouping: expected.values) { $0 }.mapValues { Int64($0.count) })
    }
  }

  /// What some devices did.
  private struct Traffic {
    /// In the order in which they come; some come again.
    var taps: [Tap] = []
    /// The ages at which ads are seen.
    var views: [ServeID: Int64] = [:]
    var serves: [ServedTerms] = []

    init(using random: inout SeededChance) throws {
      // Around noon, an hour later, around midnight.
      let bases: [Int64] = [2 * 3_600_000, 3 * 3_600_000, 12 * 3_600_000 - 60_000]
      for number in 1...16 as ClosedRange<UInt64> {
        let base = bases.randomElement(using: &random) ?? 0
        var terms = try Samples.terms(
          serve: number, client: number % 3, issuedMilliseconds: base + Int64.random(in: 0...150_000, using: &random))
        terms.isTest = number % 7 == 0
        serves.append(terms)
        if Int.random(in: 0..<5, using: &random) > 0 {
          views[terms.serveID] = [500, 1_000, 9_000].randomElement(using: &random)
        }
      }
      for number in 1...50 as ClosedRange<UInt64> {
        if number % 9 == 0, let again = taps.randomElement(using: &random) {
          taps.append(again)
          continue
        }
        guard let terms = serves.randomElement(using: &random) else { continue }
        let ages: [Int64] = [1_050, 3_000, 9_500, 20_000, 65_000, 300_000, 3_700_000]
        let age = ages.randomElement(using: &random) ?? 0
        taps.append(
          Tap(terms: terms, id: number, age: age, hasLeft: Int.random(in: 0..<4, using: &random) > 0))
      }
    }
  }

  /// Runs the traffic with its views anywhere among its taps; the watermark follows, now and then, as far as it may.
  private func run(_ traffic: Traffic, windows: Windows, using random: inout SeededChance) -> MemoryTables {
    // So few that the tables are asked for most, in half of the runs.
    let serves = Bool.random(using: &random) ? Int.random(in: 1...4, using: &random) : ClickMemory.servesMaximum
    var tables = MemoryTables(windows: windows, memory: ClickMemory(servesMaximum: serves))
    tables.arrival = Samples.now.advanced(byMilliseconds: 25 * 3_600_000)
    var views = traffic.serves.filter { traffic.views[$0.serveID] != nil }.shuffled(using: &random)
    var taps = traffic.taps[...]
    while !taps.isEmpty || !views.isEmpty {
      var batch: [ClickInput] = []
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        if !views.isEmpty, taps.isEmpty || Int.random(in: 0..<3, using: &random) == 0 {
          let terms = views.removeLast()
          batch.append(Samples.impression(terms, age: traffic.views[terms.serveID] ?? 0))
        } else if let tap = taps.popFirst() {
          batch.append(tap.event)
        }
      }
      if Int.random(in: 0..<5, using: &random) == 0 { tables.run(batch, isLost: true) }
      if Int.random(in: 0..<4, using: &random) == 0 { tables.reload() }
      tables.run(batch)
      guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
      // No further than the last moment at which the next view may come.
      let passed = (views.map(\.expiresAt).min() ?? tables.arrival).advanced(
        byMilliseconds: windows.lateArrivalMilliseconds)
      tables.consumedWatermark = max(tables.consumedWatermark, passed)
      if Int.random(in: 0..<5, using: &random) == 0 { tables.run([], isLost: true) }
      tables.run([])
    }
    tables.consumedWatermark = tables.arrival.advanced(byMilliseconds: 30 * 3_600_000)
    tables.passTime()
    return tables
  }
}
