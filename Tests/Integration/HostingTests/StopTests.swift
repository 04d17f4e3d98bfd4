import BrokerFaults
import Kafka
import LocalProcesses
import Runtime
import TestServices
import TestValues
import Testing

@Suite("The end of a service", .timeLimit(.minutes(5)))
struct StopTests {
  /// How long a stop may take, whatever is away.
  private static let stopMilliseconds = 10_000

  @Test("A service stops in time, also while the broker is away", arguments: [true, false])
  func brokerIsAway(isAway: Bool) async throws {
    let url = try await TestDatabase.url()
    try await onOwnThread {
      let service = try RunningTracking(databaseURL: url)
      defer { service.broker.stop() }
      #expect(try service.start())
      if isAway {
        service.broker.setBroker(1, isUp: false)
        // Until watermarks wait for the broker and the ends of the inputs are asked for in vain.
        Waiting.pause(milliseconds: 3_000)
      }
      #expect(service.lifeCycle.stopAll(timeoutMilliseconds: Self.stopMilliseconds))
    }
  }
}
