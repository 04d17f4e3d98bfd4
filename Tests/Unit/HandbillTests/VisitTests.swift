import AdBasics
import AdClient
import LocalProcesses
import TestValues
import Testing
import Threads

@testable import Handbill

@Suite("What users of simulated devices do in a visit")
struct VisitTests {
  /// What a client told, in order, until the visit was over.
  private struct Told {
    var happenings: [(what: AdHappening, serve: ServeID)] = []
    var hasEnded = false

    var drawn: [ServeID] { happenings.filter { $0.what == .rendered }.map(\.serve) }
    var tapped: [ServeID] {
      happenings.filter { if case .click = $0.what { true } else { false } }.map(\.serve)
    }
  }

  /// A device whose client's clock and whose agenda the test has in hand.
  private struct Device {
    let clock = AdTestClock()
    let agenda = Agenda()
    let told = Monitor(Told())

    func waits(until isSo: (Told) -> Bool) -> Bool {
      told.wait(timeoutMilliseconds: Waiting.seconds * 1_000, until: isSo)
    }

    /// Between the second tap's action and the third tap: nothing else of the agenda is done before the next ad is drawn.
    func drawNextAd(atMilliseconds milliseconds: Int64) {
      agenda.add(at: DeviceClock.monotonic.advanced(byMilliseconds: milliseconds)) {
        clock.advance(byMilliseconds: 30_000)
        _ = waits { $0.drawn.count == 2 }
      }
    }

    @DeviceActor
    func begins(_ plan: VisitPlan) throws -> Visit {
      var options = AdClientOptions()
      (options.storage, options.testClock, options.country) = (.none, clock, Country("DE"))
      let client = try AdNetworkClient(app: "sudoku", key: "key", via: .inMemory(), options: options) { fact in
        guard case .told(let what, let serve, _, _, _) = fact else { return }
        told.update { $0.happenings.append((what, serve)) }
        if case .click = what, told.withLock({ $0.tapped.count == 2 }) { drawNextAd(atMilliseconds: 150) }
      }
      let visitor = DevicePopulation.Visitor(
        app: client.identity.app, appKey: "key", clientID: nil, country: client.identity.country, device: .phone,
        wish: DevicePopulation.Wish(form: .banner, placement: "main"))
      return try Visit(
        number: 1, visitor, plan: plan, client: client,
        in: Visit.Surroundings(
          agenda: agenda, tally: TallyCounter(startedAt: Timestamp(milliseconds: 0)), wentToStore: { _ in },
          ended: { _ in told.update { $0.hasEnded = true } }))
    }
  }

  @Test("M4, B8: one ad of a visit is tapped, however often; the next, which would be limited, is looked at alone")
  func oneAd() async throws {
    let device = Device()
    let thread = OwnerThread("agenda") { device.agenda.run() }
    defer {
      device.agenda.close()
      thread.join()
    }
    var plan = VisitPlan(staysMilliseconds: 100)
    plan.taps = Array(repeating: VisitPlan.Tap(afterMilliseconds: 300, actionMilliseconds: 10), count: 4)
    let visit = try await device.begins(plan)
    try await onOwnThread {
      #expect(device.waits { !$0.drawn.isEmpty })
      device.clock.advance(byMilliseconds: 1_000)
      #expect(device.waits { $0.hasEnded })
    }
    await visit.leave()
    try device.told.withLock { told in
      try #require(told.drawn.count == 2 && Set(told.drawn).count == 2)
      #expect(told.tapped == Array(repeating: told.drawn[0], count: 2))
    }
  }
}
