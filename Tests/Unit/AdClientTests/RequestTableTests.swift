import AdBasics
import Testing

@testable import AdClient

@Suite("The table of requests")
struct RequestTableTests {
  private func id(_ number: UInt64) -> UUIDv7 {
    UUIDv7(timestamp: Timestamp(milliseconds: 1), randomHigh: 0, randomLow: number)
  }

  private func describe(_ due: [RequestTable<String>.Due]) -> [String] {
    due.map { due in
      switch due {
      case .askAgain(_, let element, let remaining): "again \(element) \(remaining)"
      case .givenUp(let element): "gave up \(element)"
      }
    }
  }

  @Test("A request is asked again once while its deadline lasts, then given up")
  func turns() {
    var table = RequestTable<String>(requestsMaximum: 10, askAgainMilliseconds: 300, deadlineMilliseconds: 1_000)
    #expect(table.add("a", id: id(1), at: ms(0)) == true)
    #expect(table.add("again", id: id(1), at: ms(0)) == false)
    #expect(table.add("b", id: id(2), at: ms(100)) == true)
    #expect(table.nextWake == ms(300))
    #expect(describe(table.due(at: ms(310))) == ["again a 690"])
    #expect(table.answered(id(2)) == "b")
    #expect(table.answered(id(2)) == nil, "an answer counts once")
    #expect(table.answered(id(3)) == nil, "it is for others")
    #expect(describe(table.due(at: ms(999))) == [])
    #expect(describe(table.due(at: ms(1_000))) == ["gave up a"])
    #expect(table.answered(id(1)) == nil, "it came too late")
  }

  @Test("The table is bounded")
  func bounded() {
    var table = RequestTable<String>(requestsMaximum: 1, askAgainMilliseconds: 300, deadlineMilliseconds: 1_000)
    #expect(table.add("a", id: id(1), at: ms(0)) == true)
    #expect(table.add("b", id: id(2), at: ms(0)) == false)
  }
}
