import AdBasics
import AdEvents
import Synchronization
import Testing

@testable import AdClient

/// A network of the test's own: it answers each request by a rule and acknowledges each event at once.
final class FakeTransport: NetworkTransport {
  private let answer: @Sendable (AdRequest) -> RequestResult
  private let log = Mutex<(requests: [AdRequest], events: [OutgoingEvent])>(([], []))

  /// Each event as it comes.
  let arrivals: AsyncStream<OutgoingEvent>
  private let arrivalSink: AsyncStream<OutgoingEvent>.Continuation

  init(answer: @escaping @Sendable (AdRequest) -> RequestResult) {
    self.answer = answer
    (arrivals, arrivalSink) = AsyncStream.makeStream()
  }

  var requests: [AdRequest] { log.withLock { $0.requests } }
  var events: [OutgoingEvent] { log.withLock { $0.events } }

  /// What the events say, in order.
  var told: [String] {
    events.map { event in
      switch event.message {
      case .impression(let impression): "\(impression.kind)"
      case .click(let click): "\(click.kind)"
      case .stored(let stored): "\(stored.type)"
      }
    }
  }

  func send(
    _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
    completion: @escaping @Sendable (RequestResult) -> Void
  ) {
    log.withLock { $0.requests.append(request) }
    acknowledged()
    completion(answer(request))
  }

  func send(_ event: OutgoingEvent, ended: @escaping @Sendable (EventEnd) -> Void) -> Bool {
    log.withLock { $0.events.append(event) }
    arrivalSink.yield(event)
    ended(.acknowledged)
    return true
  }
}

/// A client identity for tests.
func sampleIdentity(device: Device = .phone, clientID: String? = "client-1") throws -> ClientIdentity {
  ClientIdentity(
    app: try #require(AppID("sample-app")), appKey: "key", clientID: clientID, sessionID: "session-1",
    country: try #require(Country("US")), device: device)
}
