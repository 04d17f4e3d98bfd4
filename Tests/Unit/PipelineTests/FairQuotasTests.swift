import AdCore
import Pipeline
import TestValues
import Testing

@Suite("Quotas of partitions")
struct FairQuotasTests {
  @Test("A member alone gets all, nobody gets nothing, and more members than partitions leave some without")
  func bounds() {
    #expect(FairQuotas(members: [7], owners: [nil, nil, nil]).gifts == [7: [0, 1, 2]])
    #expect(FairQuotas(members: [], owners: [1, nil]).quotas == [:])
    #expect(FairQuotas(members: [1, 2, 3], owners: [nil, nil]).quotas == [1: 1, 2: 1, 3: 0])
    #expect(FairQuotas(members: [1], owners: []).quotas == [1: 0])
  }

  @Test("Whoever has one more keeps it, so that nothing changes hands without need")
  func sticky() {
    let quotas = FairQuotas(members: [1, 2], owners: [2, 1, 2, 1, 2])
    #expect(quotas.quotas == [1: 2, 2: 3])
    #expect(quotas.gifts == [1: [], 2: []])
  }

  @Test("What was a dead member's is free, and divided without an overlap")
  func dead() {
    let quotas = FairQuotas(members: [1, 3], owners: [1, 2, 2, 3, 2, nil])
    #expect(quotas.quotas == [1: 3, 3: 3])
    #expect(quotas.gifts == [1: [1, 2], 3: [4, 5]])
  }

  @Test(
    "All quotas together are all partitions, and no two differ by more than one", arguments: 0..<200 as Range<UInt64>)
  func fair(seed: UInt64) throws {
    var random = SeededChance(seed: seed)
    let members = Set((0..<Int.random(in: 1...6, using: &random)).map { _ in Int32.random(in: 1...20, using: &random) })
    let owners = (0..<Int.random(in: 0...20, using: &random)).map { _ -> Int32? in
      Bool.random(using: &random) ? nil : Int32.random(in: 1...20, using: &random)
    }
    let quotas = FairQuotas(members: members, owners: owners)
    #expect(Set(quotas.quotas.keys) == members)
    #expect(quotas.quotas.values.reduce(0, +) == owners.count)
    #expect(try #require(quotas.quotas.values.max()) - #require(quotas.quotas.values.min()) <= 1)
    let gifts = quotas.gifts.values.flatMap { $0 }
    #expect(Set(gifts).count == gifts.count)
    #expect(gifts.allSatisfy { gift in owners[Int(gift)].map { !members.contains($0) } ?? true })
    for member in members {
      let has = owners.count { $0 == member }
      #expect(has + (quotas.gifts[member]?.count ?? 0) <= max(has, quotas.quotas[member] ?? 0))
    }
  }
}
