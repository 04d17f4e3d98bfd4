import AdCore
import AdEvents
import Testing

@testable import Operations

@Suite("Billing circuit breaker")
struct CircuitBreakerTests {
  typealias Pass = CircuitBreaker.Pass

  /// What happens to a breaker, once a second.
  enum Step: Sendable {
    case pass(Pass)
    /// Seconds without a pass.
    case silence(Int64)
  }

  /// A story: what happens, and why paid ads are stopped after each step.
  struct Story: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let steps: [(Step, PaidAdsStop?)]

    init(_ description: String, _ steps: [(Step, PaidAdsStop?)]) {
      testDescription = description
      self.steps = steps
    }
  }

  private static let clean = Step.pass(Pass())
  private static let different = Step.pass(Pass(differences: 1))
  private static let lagging = Step.pass(Pass(lagMilliseconds: 120_001))
  private static let skewed = Step.pass(Pass(clockErrorMilliseconds: 5_001))
  private static let closed: [(Step, PaidAdsStop?)] = [(clean, nil)]

  static let stories: [Story] = [
    Story("at first it is open, and one clean pass closes it", [(.silence(1), .reconciliationStale), (clean, nil)]),
    Story(
      "a network that starts is behind: the first clean pass closes it",
      [(lagging, .lag), (lagging, .lag), (clean, nil), (lagging, nil), (lagging, .lag), (clean, .lag)]),
    Story(
      "a difference in the first pass keeps it open",
      [
        (different, .difference), (clean, .difference), (clean, .difference), (clean, .difference),
        (clean, .difference), (clean, nil),
      ]),
    Story(
      "a difference in one pass alone does not open it", closed + [(different, nil), (clean, nil), (different, nil)]),
    Story("a difference in two passes in a row opens it", closed + [(different, nil), (different, .difference)]),
    Story("a lag in two passes in a row opens it", closed + [(lagging, nil), (lagging, .lag)]),
    Story("a clock error in two passes in a row opens it", closed + [(skewed, nil), (skewed, .clockError)]),
    Story("two faults, each in one pass, do not open it", closed + [(lagging, nil), (skewed, nil), (clean, nil)]),
    Story(
      "what is at its limit is no fault",
      closed + [
        (.pass(Pass(lagMilliseconds: 120_000, clockErrorMilliseconds: 5_000)), nil),
        (.pass(Pass(lagMilliseconds: 120_000, clockErrorMilliseconds: 5_000)), nil),
      ]),
    Story(
      "the lowest reason that holds is told, also when it changes while open",
      closed + [
        (.pass(Pass(lagMilliseconds: 200_000, clockErrorMilliseconds: 9_000)), nil),
        (.pass(Pass(lagMilliseconds: 200_000, clockErrorMilliseconds: 9_000)), .lag), (skewed, .clockError),
        (.pass(Pass(differences: 2, clockErrorMilliseconds: 9_000)), .difference),
      ]),
    Story(
      "it closes after five clean passes in a row, and a fault between them begins the count anew",
      closed + [
        (different, nil), (different, .difference), (clean, .difference), (clean, .difference), (clean, .difference),
        (clean, .difference), (different, .difference), (clean, .difference), (clean, .difference),
        (clean, .difference), (clean, .difference), (clean, nil),
      ]),
    Story(
      "without a pass for a minute it opens, and then wants five clean passes",
      closed + [
        (.silence(59), nil), (.silence(1), .reconciliationStale), (clean, .reconciliationStale),
        (clean, .reconciliationStale), (clean, .reconciliationStale), (clean, .reconciliationStale), (clean, nil),
      ]),
    Story(
      "a pass that comes late counts from then on",
      closed + [(.silence(70), .reconciliationStale), (different, .difference)]
    ),
    Story("silence forgets a fault seen once", closed + [(different, nil), (.silence(60), .reconciliationStale)]),
    Story(
      "while open a silence begins the count of clean passes anew, and keeps the reason",
      closed + [
        (different, nil), (different, .difference), (clean, .difference), (clean, .difference), (clean, .difference),
        (clean, .difference), (.silence(60), .difference), (clean, .difference),
      ]),
  ]

  @Test("every transition", arguments: stories)
  func transitions(story: Story) {
    var now: Int64 = 0
    var breaker = CircuitBreaker(now: now)
    for (index, (step, stop)) in story.steps.enumerated() {
      switch step {
      case .pass(let pass):
        now += 1_000
        breaker.note(pass, now: now)
      case .silence(let seconds):
        now += seconds * 1_000
        breaker.advance(to: now)
      }
      #expect(breaker.stop == stop, "step \(index)")
    }
  }

  @Test("a range less others is what none of them covers")
  func subtracting() {
    let range = ServeRange(from: 10, to: 20)
    #expect(range.subtracting([]) == [range])
    #expect(range.subtracting([ServeRange(from: 0, to: 10), ServeRange(from: 20, to: 30)]) == [range])
    #expect(range.subtracting([ServeRange(from: 5, to: 25)]) == [])
    #expect(
      range.subtracting([ServeRange(from: 12, to: 14), ServeRange(from: 16, to: 30)])
        == [ServeRange(from: 10, to: 12), ServeRange(from: 14, to: 16)])
  }

  @Test("sweeps cover every moment of their depth, and what is complete is told when one ends")
  func sweeps() {
    let depth: Int64 = 36 * 3_600_000
    var sweep = ReconciliationSweep(depthMilliseconds: depth)
    let begin = Timestamp(milliseconds: 1_800_000_000_000)
    var covered: [ServeRange] = []
    for pass in 0..<200 where sweep.completeUntil == nil {
      let now = begin.advanced(byMilliseconds: Int64(pass) * 1_000)
      let ranges = sweep.ranges(now: now, completeUntil: now.advanced(byMilliseconds: -7_000))
      covered += ranges
      // The youngest second is in every pass.
      #expect(ServeRange(from: now.milliseconds - 1_000, to: now.milliseconds).subtracting(ranges) == [])
      // Many rows at first, so that its pieces get shorter, then few.
      let rows: Int64 = pass < 5 ? 300_000 : 100
      sweep.note(ranges.map { ReconciliationSweep.Compared(range: $0, rows: rows, differences: 0) })
    }
    #expect(ServeRange(from: begin.milliseconds - depth + 10_000, to: begin.milliseconds).subtracting(covered) == [])
    #expect(sweep.completeUntil == begin.advanced(byMilliseconds: -7_000))
  }

  @Test("what differs is compared again in each pass until it agrees, once, and holds back what is complete")
  func suspects() {
    var sweep = ReconciliationSweep(depthMilliseconds: 60_000)
    let begin = Timestamp(milliseconds: 1_800_000_000_000)
    let bad = begin.milliseconds - 30_000
    var isBad = true
    for pass in 0..<20 {
      let now = begin.advanced(byMilliseconds: Int64(pass) * 1_000)
      if pass == 10 { isBad = false }
      let ranges = sweep.ranges(now: now, completeUntil: now)
      let found = ranges.map { range in
        ReconciliationSweep.Compared(
          range: range, rows: 50_000, differences: isBad && (range.from..<range.to).contains(bad) ? 1 : 0)
      }
      #expect(found.reduce(0) { $0 + $1.differences } == (isBad ? 1 : 0), "pass \(pass)")
      sweep.note(found)
      #expect((sweep.completeUntil == nil) == (pass < 10), "pass \(pass)")
    }
    #expect(sweep.suspects.isEmpty)
  }
}
