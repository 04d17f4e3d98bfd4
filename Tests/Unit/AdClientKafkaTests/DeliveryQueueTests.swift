import AdBasics
import Testing

@testable import AdClient
@testable import AdClientKafka

@Suite("The queue of events")
struct DeliveryQueueTests {
  private func sendAll(_ queue: inout DeliveryQueue<String>) -> [String] {
    var sent: [String] = []
    while let (ticket, element) = queue.nextWaiting() {
      sent.append(element)
      queue.sent(ticket)
    }
    return sent
  }

  @Test("What a lost producer had not delivered is sent again, in the old order")
  func resends() {
    var queue = DeliveryQueue<String>(recordsMaximum: 10, bytesMaximum: 100)
    for name in ["a", "b", "c", "d"] { #expect(queue.add(name, bytes: 1) == true) }
    #expect(sendAll(&queue) == ["a", "b", "c", "d"])
    #expect(queue.finish(1) == "b")
    queue.producerLost()
    #expect(queue.finish(2) == "c", "a late success of the old producer counts")
    #expect(queue.add("e", bytes: 1) == true)
    #expect(sendAll(&queue) == ["a", "d", "e"])
    #expect(queue.finish(0) == "a")
    #expect(queue.finish(0) == nil, "finished once")
    #expect(queue.finish(3) == "d")
    #expect(queue.finish(4) == "e")
    #expect(queue.count == 0)
    #expect(!queue.hasWaiting)
    #expect(queue.finish(9) == nil)
  }

  @Test("A full queue refuses the newest and keeps what it has")
  func bounded() {
    var queue = DeliveryQueue<String>(recordsMaximum: 2, bytesMaximum: 10)
    #expect(queue.add("a", bytes: 6) == true)
    #expect(queue.add("large", bytes: 5) == false)
    #expect(queue.add("b", bytes: 4) == true)
    #expect(queue.add("c", bytes: 0) == false)
    #expect(sendAll(&queue) == ["a", "b"])
    #expect(queue.finish(0) == "a")
    #expect(queue.add("c", bytes: 6) == true)
  }

  @Test("Thousands pass through with producers lost on the way: each is delivered, none is forgotten")
  func long() {
    var queue = DeliveryQueue<Int>(recordsMaximum: 500, bytesMaximum: .max)
    var delivered: [Int] = []
    var next = 0
    for round in 0..<200 {
      while queue.add(next, bytes: 1) { next += 1 }
      var tickets: [UInt64] = []
      for _ in 0..<300 {
        guard let (ticket, _) = queue.nextWaiting() else { break }
        queue.sent(ticket)
        tickets.append(ticket)
      }
      for ticket in tickets.prefix(round % 3 == 0 ? 100 : 300) {
        if let element = queue.finish(ticket) { delivered.append(element) }
      }
      if round % 3 == 0 { queue.producerLost() }
    }
    #expect(delivered == Array(0..<delivered.count))
    #expect(delivered.count + queue.count == next)
  }
}

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
