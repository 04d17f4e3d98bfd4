import AdBasics
import AdEvents
import TestValues
import Testing
import Threads

@testable import AdClient
@testable import AdClientKafka

@Suite("What a transport's threads share")
struct TransportStateTests {
  private func makeState() throws -> TransportState {
    TransportState(
      settings: KafkaTransportSettings(bootstrapServers: "", apps: [try #require(AppID("sample-app"))]))
  }

  private func ask(_ number: UInt64, in state: TransportState) -> UUIDv7 {
    let request = AdRequest.sample(number)
    let waiting = TransportState.WaitingRequest(request: request, acknowledged: {}, completion: { _ in })
    let isTaken = state.withNews { $0.requests.add(waiting, id: request.requestID, at: DeviceClock.monotonic) }
    #expect(isTaken)
    return request.requestID
  }

  @Test("Who waits until nothing is left is woken by the end of the last request, not by one before")
  func idle() throws {
    let state = try makeState()
    #expect(state.waitUntilIdle(timeoutMilliseconds: 0))
    let requests = (1...2).map { ask($0, in: state) }
    let waiter = Eventual("idle") { state.waitUntilIdle(timeoutMilliseconds: 60_000) }
    for request in requests {
      #expect(!state.waitUntilIdle(timeoutMilliseconds: 0))
      #expect(state.withProgress { $0.requests.answered(request) } != nil)
    }
    #expect(try waiter.value())
  }

  @Test("News ends the sending thread's wait, once for however much there is")
  func news() throws {
    let state = try makeState()
    for number in 1...3 as ClosedRange<UInt64> { _ = ask(number, in: state) }
    #expect(state.withLock { $0.hasNews })
    state.waitForNews()
    #expect(!state.withLock { $0.hasNews })
    let waiter = Eventual("sender") { state.waitForNews() }
    state.withNews { $0.replyPartition = 1 }
    try waiter.value()
  }
}
