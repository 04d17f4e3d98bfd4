import AdCore
import AdEvents
import TestValues
import Testing

@testable import AdSelectionCore
@testable import Pipeline

@Suite("Throttling and repeated requests go by arrival")
struct ArrivalTests {
  private let client = PartitionRig.clients[0]

  private func at(_ milliseconds: Int64) -> Timestamp { Samples.now.advanced(byMilliseconds: milliseconds) }

  /// A request of the client, each with an id of its own, that waits as long as there is to wait.
  private func request(_ number: UInt64, _ rig: PartitionRig) throws -> SelectionInput {
    .request(
      try rig.incoming(client) {
        $0.requestID = UUIDv7(timestamp: Samples.now, randomHigh: 1, randomLow: number)
        $0.deadlineMilliseconds = 60_000
      })
  }

  @Test(
    "D2: after a stall, requests that came 38 to 40 s apart are served, also by a new owner", arguments: [false, true])
  func stall(isRestarted: Bool) throws {
    var rig = try PartitionRig()
    rig.grantAll()
    rig.beat(at: at(15_000))
    // It came at 0 and was decided at 15 s; the next came 38.3 s after it, 23.3 s after its decision.
    #expect(rig.run([try request(1, rig)], at: at(15_000), arrival: at(0)).outcomes == [.accepted])
    rig.beat(at: at(38_300))
    if isRestarted { try rig.restart() }
    #expect(rig.run([try request(2, rig)], at: at(38_300), arrival: at(38_300)).outcomes == [.accepted])
    rig.beat(at: at(68_000))
    // One that came sooner is refused, however late it is decided.
    let tooSoon = rig.run([try request(3, rig)], at: at(68_000), arrival: at(38_300 + 28_999))
    #expect(tooSoon.effects.decisions.map(\.decision.reason) == [.tooSoon])
  }

  @Test(
    "the same request again within 60 s of its arrival is a duplicate, whenever each was decided",
    arguments: [false, true])
  func duplicates(isRestarted: Bool) throws {
    var rig = try PartitionRig()
    rig.grantAll()
    _ = rig.run([try request(1, rig)], at: at(1_000), arrival: at(0))
    rig.beat(at: at(75_000))
    if isRestarted { try rig.restart() }
    #expect(rig.run([try request(1, rig)], at: at(75_000), arrival: at(59_999)).outcomes == [.duplicate])
    #expect(rig.run([try request(1, rig)], at: at(75_000), arrival: at(60_000)).outcomes != [.duplicate])
  }

  @Test("D2: a broker's clock that was an hour ahead holds nobody up once it is set right", arguments: [false, true])
  func brokerAhead(isRestarted: Bool) throws {
    var rig = try PartitionRig()
    rig.grantAll()
    // What was said to have arrived never goes back, so the arrivals stand still for that hour.
    #expect(rig.run([try request(1, rig)], at: at(0), arrival: at(3_600_000)).outcomes == [.accepted])
    rig.beat(at: at(31_000))
    if isRestarted { try rig.restart() }
    #expect(rig.run([try request(2, rig)], at: at(31_000), arrival: at(3_600_000)).outcomes == [.accepted])
    let tooSoon = rig.run([try request(3, rig)], at: at(32_000), arrival: at(3_600_000))
    #expect(tooSoon.effects.decisions.map(\.decision.reason) == [.tooSoon])
  }

  @Test("D2, D3: a throttle made again in any order is the same")
  func anyOrder() throws {
    let placement = try #require(PlacementID("home"))
    var moments = (0..<40).map { at(Int64($0) * 1_500) }
    var forward = Throttle()
    for moment in moments { forward.note(client: 1, placement: placement, at: moment) }
    var random = SeededChance(seed: 5)
    for _ in 0..<20 {
      // Within a generation: what is older than the other one is forgotten.
      moments[30...].shuffle(using: &random)
      var shuffled = Throttle()
      for moment in moments { shuffled.note(client: 1, placement: placement, at: moment) }
      for ask in stride(from: Int64(58_000), through: 95_000, by: 500) {
        var (one, other) = (forward, shuffled)
        #expect(
          one.admit(client: 1, placement: placement, isInterstitial: false, now: at(ask))
            == other.admit(client: 1, placement: placement, isInterstitial: false, now: at(ask)))
      }
    }
  }
}
