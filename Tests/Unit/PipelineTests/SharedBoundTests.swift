import Testing

@testable import Pipeline

@Suite("A bound that partitions share")
struct SharedBoundTests {
  @Test("Each gets an equal part, and all together no more than there is, however many they are")
  func parts() {
    let bound = SharedBound(1_000)
    let first = bound.quota()
    #expect(first.part == 1_000)
    #expect(first.take(900))
    let others = (0..<9).map { _ in bound.quota() }
    #expect(first.part == 100)
    #expect(!first.take(1))
    // What the first one took before they came is not there for them until it gives it back.
    #expect(others[0].take(100))
    #expect(!others[0].take(1) && !others[1].take(1))
    #expect(bound.held == 1_000)
    first.give(850)
    #expect(others[1].take(100) && !others[2].take(101) && others[2].take(50))
    #expect(bound.held == 300)
  }

  @Test("What somebody held is given back at the end, and the part of the others grows")
  func ends() {
    let bound = SharedBound(1_000)
    let staying = bound.quota()
    var leaving: SharedBound.Quota? = bound.quota()
    #expect(leaving?.take(500) == true)
    #expect(staying.part == 500 && bound.held == 500)
    leaving = nil
    #expect(staying.part == 1_000 && bound.held == 0)
  }

  @Test("With more partitions than there is of anything each may hold one, but no more than there are together")
  func tooMany() {
    let bound = SharedBound(10)
    let quotas = (0..<1_000).map { _ in bound.quota() }
    #expect(quotas.count { $0.take(1) } == 10)
    #expect(bound.held == 10)
  }
}
