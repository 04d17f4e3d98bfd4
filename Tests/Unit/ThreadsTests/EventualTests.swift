import Testing
import Threads

@Suite("What is made meanwhile")
struct EventualTests {
  @Test("Several are made at the same time, and each is waited for until it is there")
  func together() throws {
    let arrived = Monitor(0)
    let makers = (0..<3).map { index in
      Eventual("maker") {
        arrived.update { $0 += 1 }
        // Made one after the other, nobody would ever see all of them.
        let isTogether = arrived.wait(timeoutMilliseconds: 60_000) { $0 == 3 }
        return isTogether ? index : -1
      }
    }
    #expect(try makers.map { try $0.value() } == [0, 1, 2])
    #expect(try makers[0].value() == 0, "asked again it is still there")
  }

  @Test("What came in the way is told to whoever asks for it")
  func failure() {
    let maker = Eventual<Int>("maker") { throw StopRequest.Stopped() }
    #expect(throws: StopRequest.Stopped.self) { try maker.value() }
  }
}
