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
