import AdCore
import AdEvents
import TestValues
import Testing

@testable import AdSelectionCore
@testable import Pipeline

@Suite("A partition over time")
struct PartitionHistoryTests {
  @Test("every request gets exactly one outcome and one answer, unless it is forwarded (I3, M1)")
  func oneOutcomeEach() throws {
    var random = SeededChance(seed: 3)
    var rig = try PartitionRig()
    rig.grantAll()
    var now = Samples.now
    var decisions = 0
    for _ in 0..<40 {
      now = now.advanced(byMilliseconds: 3_000)
      rig.beat(at: now)
      let requests = try (0..<25).map { _ in try randomRequest(rig, at: now, using: &random) }
      let batch = rig.run(requests.map(SelectionInput.request), at: now)
      #expect(batch.outcomes.count == requests.count)
      // Without a key few are answered, and nothing is sent on for ever.
      let astray = batch.rejections.filter { $0.reason == .forwardedTooOften }.count
      let unanswered = Int(batch.effects.keylessBeyondLimit) + astray
      #expect(batch.answers.count == requests.count - batch.forwards.count - unanswered)
      #expect(batch.outcomes.filter { $0 == .forwarded }.count == batch.forwards.count)
      let duplicates = batch.outcomes.filter { $0 == .duplicate }.count
      // A rejected one is decided too, once for its id (M1).
      let decidable = requests.count - batch.forwards.count - duplicates - unanswered
      #expect((decidable - batch.rejections.count...decidable).contains(batch.effects.decisions.count))
      #expect(!batch.outcomes.contains(.noted))
      decisions += batch.effects.decisions.count
    }
    #expect(rig.counts.values.reduce(0, +) == Int64(decisions))
  }

  private func randomRequest(
    _ rig: PartitionRig, at now: Timestamp, using random: inout SeededChance
  ) throws -> IncomingRequest {
    let keys = [Samples.liveKey, Samples.liveKey, Samples.testKey, Samples.revokedKey, [9]]
    let key = keys[Int.random(in: 0..<keys.count, using: &random)]
    let client = UInt64.random(in: 0..<60, using: &random)
    let requestNumber = UInt64.random(in: 0..<400, using: &random)
    let isBad = Int.random(in: 0..<20, using: &random) == 0
    let size = Int.random(in: 0..<8, using: &random) == 0 ? ["huge"] : []
    let country = try #require(Country(Bool.random(using: &random) ? "US" : "JP"))
    return try rig.incoming(client, key: key, at: now) {
      $0.requestID = UUIDv7(timestamp: Samples.now, randomHigh: 1, randomLow: requestNumber)
      $0.replyPartition = isBad ? 99 : 0
      $0.requiredSizes = size
      $0.country = country
    }
  }

  @Test("an allotment is never used beyond its amount, and its report says what was used")
  func allotments() throws {
    var rig = try PartitionRig()
    let campaign = rig.samples.campaigns[0].id
    let amount: Int64 = 200_000_000
    _ = rig.run([.grant(Samples.grant(8, campaign: campaign, amount: amount, lasting: 60_000))])
    var reserved: Int64 = 0
    var outcomes: Set<Outcome> = []
    for client in PartitionRig.clients.prefix(60) {
      let batch = rig.run([.request(try rig.incoming(client))])
      outcomes.formUnion(batch.outcomes)
      reserved += batch.effects.decisions.compactMap { $0.serve?.reservation?.amount.value }.reduce(0, +)
      for used in batch.effects.used.values { #expect(used.total.value == reserved && used.total.value <= amount) }
    }
    #expect(outcomes == [.accepted, .refused(.inventoryUnavailable)])
    let end = Samples.now.advanced(byMilliseconds: 60_000)
    rig.beat(at: end)
    #expect(rig.decider.isTimerDue(rig.context(at: end)))
    let closing = rig.run([], at: end)
    #expect(closing.effects.closed.map(\.row.used) == [Nanos(reserved)])
    #expect(closing.effects.closed.map(\.sequence) == [1])
    #expect(closing.messages.map(\.sequence) == [1])
    let report = try #require(closing.messages.first)
    #expect(report.message.topic == "ads.usage" && report.message.partition == PartitionRig.partition)
    let next = rig.run([.request(try rig.incoming(PartitionRig.clients[61], at: end))], at: end)
    #expect(next.outcomes == [.refused(.inventoryUnavailable)])
    #expect(next.effects.decisions.map(\.decision.reason) == [.noAllotment])
  }

  @Test("a campaign without an allotment is asked for, once a second, without a sequence")
  func asks() throws {
    var rig = try PartitionRig()
    #expect(rig.decider.isTimerDue(rig.context(at: Samples.now)))
    let first = rig.run([])
    #expect(first.messages.isEmpty)
    #expect(first.answers.map(\.topic) == ["ads.usage"])
    #expect(!rig.decider.isTimerDue(rig.context(at: Samples.now.advanced(byMilliseconds: 999))))
    let second = Samples.now.advanced(byMilliseconds: 1_000)
    #expect(rig.decider.isTimerDue(rig.context(at: second)))
    rig.grantAll()
    #expect(!rig.decider.isTimerDue(rig.context(at: second)))
  }

  @Test("the same ordinal granted twice opens one allotment, and one of no amount none")
  func grants() throws {
    var rig = try PartitionRig()
    let campaign = rig.samples.campaigns[0].id
    let batch = rig.run([
      .grant(Samples.grant(1, campaign: campaign)), .grant(Samples.grant(1, campaign: campaign)),
      .grant(Samples.grant(2, campaign: campaign, ordinal: 2, amount: 0)), .watermark,
    ])
    #expect(batch.outcomes == [.accepted, .duplicate, .rejected(.invalidInternal), .noted])
    #expect(batch.effects.opened.map(\.row.allotment) == [1])
  }

  @Test("without a heartbeat no paid ad is served and no budget asked for")
  func withoutHeartbeat() throws {
    var rig = try PartitionRig()
    rig.grantAll()
    let now = Samples.now.advanced(byMilliseconds: 10_000)
    let batch = rig.run([.request(try rig.incoming(PartitionRig.clients[0], at: now))], at: now)
    #expect(batch.outcomes == [.refused(.inventoryUnavailable)])
    #expect(batch.effects.decisions.map(\.decision.reason) == [.paidAdsSuspended])
    #expect(!rig.decider.isTimerDue(rig.context(at: now)))
  }

  @Test("a partition restored from its rows decides as if it had never stopped", arguments: [1, 2, 3, 4] as [UInt64])
  func restored(seed: UInt64) throws {
    var steady = try PartitionRig()
    var restarted = try PartitionRig()
    var random = SeededChance(seed: seed)
    let campaign = steady.samples.campaigns[0].id
    var now = Samples.now
    for step in 1...60 {
      now = now.advanced(byMilliseconds: 4_000)
      steady.beat(at: now)
      restarted.beat(at: now)
      if step % 8 == 1 {
        var grant = Samples.grant(UInt64(step), campaign: campaign, ordinal: Int64(step), amount: 400_000_000)
        grant.serveUntil = now.advanced(byMilliseconds: 30_000)
        #expect(steady.run([.grant(grant)], at: now).outcomes == restarted.run([.grant(grant)], at: now).outcomes)
      }
      let requests = try (0..<8).map { _ in try knownRequest(steady, at: now, using: &random) }
      if Bool.random(using: &random) { try restarted.restart() }
      let one = steady.run(requests.map(SelectionInput.request), at: now)
      let other = restarted.run(requests.map(SelectionInput.request), at: now)
      #expect(one.outcomes == other.outcomes)
      #expect(one.answers == other.answers)
      #expect(one.effects.used == other.effects.used)
      #expect(steady.run([], at: now).messages == restarted.run([], at: now).messages)
    }
    #expect(steady.stored.decisions == restarted.stored.decisions)
  }

  private func knownRequest(
    _ rig: PartitionRig, at now: Timestamp, using random: inout SeededChance
  ) throws -> IncomingRequest {
    let client = PartitionRig.clients[Int.random(in: 0..<20, using: &random)]
    let isTest = Bool.random(using: &random)
    let number = UInt64.random(in: 0..<200, using: &random)
    let placement = try #require(PlacementID(Bool.random(using: &random) ? "home" : "detail"))
    return try rig.incoming(client, key: isTest ? Samples.testKey : Samples.liveKey, at: now) {
      $0.requestID = UUIDv7(timestamp: Samples.now, randomHigh: 2, randomLow: number)
      $0.placement = placement
    }
  }
}
