import AdCore
import Pipeline
import TestValues
import Testing

@Suite("Leases of partitions")
struct LeaseRulesTests {
  private func view(
    _ others: [LeaseView.Member] = [], _ owners: [Int32?], partitionCount: Int32? = nil
  ) -> LeaseView {
    var partitions: [Int32: LeaseView.Partition] = [:]
    for (index, owner) in owners.enumerated() {
      partitions[Int32(index)] = LeaseView.Partition(epoch: Int64(10 + index), owner: owner)
    }
    return LeaseView(
      own: 1, others: others, partitions: partitions, partitionCount: partitionCount ?? Int32(owners.count))
  }

  private func living(_ number: Int32, beat: Int64 = 1) -> LeaseView.Member {
    LeaseView.Member(number: number, beat: beat, isGone: false)
  }

  @Test("An instance alone takes everything at once, each partition by the epoch that it was seen with")
  func alone() {
    var rules = LeaseRules()
    let decision = rules.decide(view([], [9, nil], partitionCount: 3), held: [:], now: 0)
    #expect(
      decision.taken == [
        0: PartitionClaim(owner: 1, seenEpoch: 10), 1: PartitionClaim(owner: 1, seenEpoch: 11),
        2: PartitionClaim(owner: 1, seenEpoch: 0),
      ])
    #expect(!decision.isBalanced)
    let balanced = rules.decide(view([], [1, 1, 1]), held: [0: .open, 1: .open, 2: .open], now: 500)
    #expect(balanced.taken.isEmpty && balanced.isBalanced)
  }

  @Test("What is under way is not taken twice, and does not hide what is still to be taken")
  func underWay() {
    var rules = LeaseRules()
    let decision = rules.decide(view([], [nil, nil, nil, nil]), held: [0: .opening, 1: .opening], now: 0)
    #expect(decision.taken.keys.sorted() == [2, 3])
    #expect(decision.lost.isEmpty && decision.released.isEmpty)
  }

  @Test("A member whose session has ended is gone at once; its partitions are taken in the next round")
  func killed() {
    var rules = LeaseRules()
    let gone = LeaseView.Member(number: 2, beat: 5, isGone: true)
    let first = rules.decide(view([gone], [1, 2]), held: [0: .open], now: 0)
    #expect(first.expelled == [2])
    #expect(first.taken.isEmpty)
    #expect(rules.decide(view([], [1, 2]), held: [0: .open], now: 1).taken.keys.sorted() == [1])
  }

  @Test("A member that stands still is gone when its beat was the same for five seconds of rounds")
  func frozen() {
    var rules = LeaseRules()
    var now: Int64 = 0
    while now < LeaseRules.silenceMilliseconds {
      #expect(rules.decide(view([living(2)], [1, 2]), held: [0: .open], now: now).expelled.isEmpty)
      now += 500
    }
    #expect(rules.decide(view([living(2)], [1, 2]), held: [0: .open], now: now).expelled == [2])
    #expect(rules.decide(view([living(2, beat: 2)], [1, 2]), held: [0: .open], now: now + 500).expelled.isEmpty)
  }

  @Test("Whoever stood still itself, or could not look, does not take the others for gone")
  func observerFrozen() {
    var rules = LeaseRules()
    _ = rules.decide(view([living(2)], [1, 2]), held: [0: .open], now: 0)
    #expect(rules.decide(view([living(2)], [1, 2]), held: [0: .open], now: 3_600_000).expelled.isEmpty)
  }

  @Test("A new member is given its part: others finish theirs and give them up, it takes only what is free")
  func joining() {
    var rules = LeaseRules()
    let release = rules.decide(
      view([living(2)], [1, 1, 1, 1]), held: [0: .open, 1: .open, 2: .open, 3: .open], now: 0)
    #expect(release.released == [2, 3])
    #expect(release.taken.isEmpty && !release.isBalanced)
    let held: [Int32: LeasePhase] = [0: .open, 1: .open, 2: .closing, 3: .closing]
    let closing = rules.decide(view([living(2)], [1, 1, 1, 1]), held: held, now: 100)
    #expect(closing.released.isEmpty && closing.cleared.isEmpty && closing.taken.isEmpty)
    let closed = rules.decide(view([living(2)], [1, 1, 1, 1]), held: [0: .open, 1: .open], now: 200)
    #expect(closed.cleared == [2, 3])
    var newcomer = LeaseRules()
    #expect(newcomer.decide(view([living(2)], [2, 2, 2, 2]), held: [:], now: 0).taken.isEmpty)
    #expect(newcomer.decide(view([living(2)], [2, 2, nil, nil]), held: [:], now: 100).taken.keys.sorted() == [2, 3])
  }

  @Test("What somebody else has taken is given up; what is only being opened is left to the claim")
  func lost() {
    var rules = LeaseRules()
    let decision = rules.decide(view([living(2)], [2, 2, 1, 1]), held: [0: .open, 1: .opening, 2: .open], now: 0)
    #expect(decision.lost == [0])
  }

  @Test("Partitions that the topics no longer have are given up")
  func shrunk() {
    var rules = LeaseRules()
    let held: [Int32: LeasePhase] = [0: .open, 1: .open, 2: .open]
    #expect(rules.decide(view([], [1, 1, 1], partitionCount: 1), held: held, now: 0).released == [1, 2])
  }

  @Test("After a database was started again nobody takes what another will come back to")
  func returned() {
    var rules = LeaseRules()
    rules.hasReturned(now: 1_000)
    let gone = LeaseView.Member(number: 2, beat: 5, isGone: true)
    let modest = rules.decide(view([gone], [1, 2]), held: [0: .open], now: 1_100)
    #expect(modest.expelled.isEmpty && modest.taken.isEmpty)
    let later = 1_000 + LeaseRules.returnMilliseconds
    #expect(rules.decide(view([gone], [1, 2]), held: [0: .open], now: later).expelled == [2])
  }

  /// Several instances over one table, with chance deciding who acts when: kills, stand-stills, late claims.
  @Test(
    "Whatever happens, each partition comes to exactly one owner, shared fairly, and nothing moves after that",
    arguments: 0..<300 as Range<UInt64>)
  func converges(seed: UInt64) {
    var table = LeaseTable(seed: seed)
    for _ in 0..<400 { table.act() }
    table.calmDown()
    #expect(table.isFair, "seed \(seed): \(table)")
    let epochs = table.epochs
    for _ in 0..<50 { table.goRound() }
    #expect(table.epochs == epochs, "seed \(seed): partitions change hands without need")
  }
}

/// The tables of one service and its instances, as the rules see them.
private struct LeaseTable: CustomStringConvertible {
  private struct Instance {
    var rules = LeaseRules()
    var number: Int32
    var held: [Int32: LeasePhase] = [:]
    /// Claims on their way to the tables.
    var claims: [Int32: PartitionClaim] = [:]
    var isFrozen = false
  }

  private struct Row {
    var beat: Int64 = 0
    var hasSession = true
  }

  private var random: SeededChance
  private var now: Int64 = 0
  private var lastNumber: Int32 = 0
  private var members: [Int32: Row] = [:]
  private var partitions: [Int32: LeaseView.Partition] = [:]
  private var instances: [Instance] = []
  private let partitionCount: Int32

  init(seed: UInt64) {
    random = SeededChance(seed: seed)
    partitionCount = Int32.random(in: 1...9, using: &random)
    start()
  }

  var epochs: [Int64] { (0..<partitionCount).map { partitions[$0]?.epoch ?? 0 } }
  var description: String { "\(instances.map { "\($0.number): \($0.held)" }), \(partitions)" }

  /// Every partition is open at the one instance that its row names, and nobody has two more than another.
  var isFair: Bool {
    let counts = instances.map(\.held.count)
    return counts.reduce(0, +) == Int(partitionCount) && (counts.max() ?? 0) - (counts.min() ?? 0) <= 1
      && instances.allSatisfy { instance in
        instance.held.allSatisfy { $0.value == .open && partitions[$0.key]?.owner == instance.number }
      }
  }

  mutating func act() {
    now += Int64.random(in: 1...200, using: &random)
    let index = Int.random(in: 0..<instances.count, using: &random)
    switch Int.random(in: 0..<40, using: &random) {
    case 0 where instances.count < 5: start()
    case 1 where instances.count > 1: kill(index)
    case 2: instances[index].isFrozen = true
    case 3: now += 10_000
    case 4: loseSession(index)
    case 5..<10: for frozen in instances.indices { instances[frozen].isFrozen = false }
    case 10..<20: work(index)
    default: act(index)
    }
  }

  mutating func calmDown() {
    for index in instances.indices { instances[index].isFrozen = false }
    for _ in 0..<60 { goRound() }
  }

  mutating func goRound() {
    now += 500
    for index in instances.indices {
      act(index)
      work(index)
    }
  }

  private mutating func start() {
    instances.append(Instance(number: join(nil)))
  }

  private mutating func join(_ earlier: Int32?) -> Int32 {
    lastNumber += 1
    members[lastNumber] = Row()
    guard let earlier else { return lastNumber }
    for (partition, row) in partitions where row.owner == earlier { partitions[partition]?.owner = lastNumber }
    members[earlier] = nil
    return lastNumber
  }

  private mutating func kill(_ index: Int) { members[instances.remove(at: index).number]?.hasSession = false }

  private mutating func loseSession(_ index: Int) { members[instances[index].number]?.hasSession = false }

  private mutating func act(_ index: Int) {
    guard !instances[index].isFrozen else { return }
    var own = instances[index].number
    if members[own]?.hasSession != true {
      own = join(own)
      instances[index].number = own
      instances[index].rules.hasReturned(now: now)
    }
    members[own]?.beat += 1
    let others = members.filter { $0.key != own }.map {
      LeaseView.Member(number: $0.key, beat: $0.value.beat, isGone: !$0.value.hasSession)
    }
    let view = LeaseView(own: own, others: others, partitions: partitions, partitionCount: partitionCount)
    let decision = instances[index].rules.decide(view, held: instances[index].held, now: now)
    for member in decision.expelled { members[member] = nil }
    for partition in decision.lost { instances[index].held[partition] = nil }
    for partition in decision.released { instances[index].held[partition] = .closing }
    for (partition, claim) in decision.taken {
      instances[index].held[partition] = .opening
      instances[index].claims[partition] = claim
    }
    for partition in decision.cleared where partitions[partition]?.owner == own { partitions[partition]?.owner = nil }
  }

  /// The claims come to the tables, and what is to be given up is finished.
  private mutating func work(_ index: Int) {
    guard !instances[index].isFrozen else { return }
    for (partition, claim) in instances[index].claims {
      instances[index].claims[partition] = nil
      guard instances[index].held[partition] == .opening else { continue }
      let row = partitions[partition] ?? LeaseView.Partition(epoch: 0, owner: nil)
      if row.owner == claim.owner || row.epoch == claim.seenEpoch {
        partitions[partition] = LeaseView.Partition(epoch: row.epoch + 1, owner: claim.owner)
        instances[index].held[partition] = .open
      } else {
        instances[index].held[partition] = nil
      }
    }
    for (partition, phase) in instances[index].held where phase == .closing { instances[index].held[partition] = nil }
  }
}
