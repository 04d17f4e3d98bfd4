import AdBasics
import AdClient
import Synchronization
import Testing
import Threads

@testable import Handbill

@Suite("What users of simulated devices do in a visit")
struct VisitTests {
  /// What a client told, in order.
  private struct Told {
    var requests = 0
    var happenings: [(what: AdHappening, serve: ServeID)] = []

    func serves(_ isWanted: (AdHappening) -> Bool) -> [ServeID] {
      happenings.filter { isWanted($0.what) }.map(\.serve)
    }

    var drawn: [ServeID] { serves { $0 == .rendered } }
    var viewed: [ServeID] { serves { $0 == .viewed } }
    var tapped: [ServeID] { serves { if case .click = $0 { true } else { false } } }
  }

  @DeviceActor
  @Test("M4, B8: one ad of a visit is tapped, however often; the next, which would be limited, is looked at alone")
  func oneAd() async throws {
    let (clock, agenda) = (AdTestClock(), Agenda())
    let told = Mutex(Told())
    let hasEnded = Mutex(false)
    let thread = OwnerThread("agenda") { agenda.run() }
    defer {
      agenda.close()
      thread.join()
    }
    var options = AdClientOptions()
    (options.storage, options.testClock, options.country) = (.none, clock, Country("DE"))
    let client = try AdNetworkClient(app: "sudoku", key: "key", via: .inMemory(), options: options) { fact in
      told.withLock { told in
        switch fact {
        case .request: told.requests += 1
        case .told(let what, let serve, _, _, _): told.happenings.append((what, serve))
        case .failed, .converted: break
        }
      }
    }
    var plan = VisitPlan(staysMilliseconds: 100)
    plan.taps = Array(repeating: VisitPlan.Tap(afterMilliseconds: 300, actionMilliseconds: 10), count: 4)
    let visitor = DevicePopulation.Visitor(
      app: client.identity.app, appKey: "key", clientID: nil, country: client.identity.country, device: .phone,
      wish: DevicePopulation.Wish(form: .banner, placement: "main"))
    let visit = try Visit(
      number: 1, visitor, plan: plan, client: client,
      in: Visit.Surroundings(
        agenda: agenda, tally: TallyCounter(startedAt: Timestamp(milliseconds: 0)), wentToStore: { _ in },
        ended: { _ in hasEnded.withLock { $0 = true } }))
    defer { visit.leave() }
    try await until { told.withLock { !$0.drawn.isEmpty } }
    clock.advance(byMilliseconds: 1_000)
    try await until { told.withLock { !$0.viewed.isEmpty } }
    try await until { told.withLock { $0.tapped.count == 2 } }
    // The next ad comes before the third tap.
    clock.advance(byMilliseconds: 30_000)
    try await until { hasEnded.withLock { $0 } }
    told.withLock { told in
      #expect(told.drawn.count == 2 && Set(told.drawn).count == 2)
      #expect(told.tapped == [told.drawn[0], told.drawn[0]])
    }
  }

  @DeviceActor
  private func until(_ condition: () -> Bool) async throws {
    for _ in 0..<3_000 where !condition() { try await Task.sleep(for: .milliseconds(10)) }
    try #require(condition())
  }
}
