import AdCore
import Pipeline
import TestValues
import Testing

@Suite("Shares of partitions")
struct FairSharesTests {
  @Test("A member alone gets all, nobody gets nothing, and more members than partitions leave some without")
  func bounds() {
    #expect(FairShares(members: [7], owners: [nil, nil, nil]).gifts == [7: [0, 1, 2]])
    #expect(FairShares(members: [], owners: [1, nil]).shares == [:])
    #expect(FairShares(members: [1, 2, 3], owners: [nil, nil]).shares == [1: 1, 2: 1, 3: 0])
    #expect(FairShares(members: [1], owners: []).shares == [1: 0])
  }

  @Test("Whoever has one more keeps it, so that nothing changes hands without need")
  func sticky() {
    let shares = FairShares(members: [1, 2], owners: [2, 1, 2, 1, 2])
    #expect(shares.shares == [1: 2, 2: 3])
    #expect(shares.gifts == [1: [], 2: []])
  }

  @Test("What was a dead member's is free, and divided without an overlap")
  func dead() {
    let shares = FairShares(members: [1, 3], owners: [1, 2, 2, 3, 2, nil])
    #expect(shares.shares == [1: 3, 3: 3])
    #expect(shares.gifts == [1: [1, 2], 3: [4, 5]])
  }

  @Test(
    "All shares together are all partitions, and no two differ by more than one", arguments: 0..<200 as Range<UInt64>)
  func fair(seed: UInt64) throws {
    var random = SeededChance(seed: seed)
    let members = Set((0..<Int.random(in: 1...6, using: &random)).map { _ in Int32.random(in: 1...20, using: &random) })
    let owners = (0..<Int.random(in: 0...20, using: &random)).map { _ -> Int32? in
      Bool.random(using: &random) ? nil : Int32.random(in: 1...20, using: &random)
    }
    let shares = FairShares(members: members, owners: owners)
    #expect(Set(shares.shares.keys) == members)
    #expect(shares.shares.values.reduce(0, +) == owners.count)
    #expect(try #require(shares.shares.values.max()) - #require(shares.shares.values.min()) <= 1)
    let gifts = shares.gifts.values.flatMap { $0 }
    #expect(Set(gifts).count == gifts.count)
    #expect(gifts.allSatisfy { gift in owners[Int(gift)].map { !members.contains($0) } ?? true })
    for member in members {
      let has = owners.count { $0 == member }
      #expect(has + (shares.gifts[member]?.count ?? 0) <= max(has, shares.shares[member] ?? 0))
    }
  }
}
