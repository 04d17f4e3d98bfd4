internal import AdBasics
public import AdClient
internal import AdEvents
internal import Threads

/// One connection over Kafka for all clients of a process, such as an app's own server, which is a client for each of its
/// users. Clients are made with its ``transport``; to close one of them leaves the connection to the others.
public final class KafkaConnection: Sendable {
  private let shared: KafkaTransport

  /// Starts connecting.
  ///
  /// - Parameters:
  ///   - servers: `host:port`, separated by commas.
  ///   - apps: The ids of the apps whose answers are read.
  ///   - properties: Further settings by librdkafka's names, as with ``AdTransport/kafka(_:properties:isEmbedded:)``.
  ///   - isEmbedded: True when the broker is the embedded one of a demo.
  ///   - requestDeadlineMilliseconds: How long a request waits for its answer, 1 to 60,000.
  ///   - log: Hears when the connection changes.
  /// - Throws: `configurationError` for an id that is none.
  public init(
    _ servers: String, apps: [String], properties: [String: String] = [:], isEmbedded: Bool = false,
    requestDeadlineMilliseconds: Int64 = 10_000, log: @escaping AdLog = { _ in }
  ) throws(AdFailure) {
    let ids = apps.compactMap { AppID($0) }
    guard ids.count == apps.count, !ids.isEmpty else {
      throw AdFailure(.configurationError, detail: "an app's id is 1 to 40 of a-z, 0-9 and -, the first not -")
    }
    var settings = KafkaTransportSettings(bootstrapServers: servers, apps: ids)
    settings.isEmbedded = isEmbedded
    settings.deadlineMilliseconds = min(max(1, requestDeadlineMilliseconds), 60_000)
    settings.askAgainMilliseconds = settings.deadlineMilliseconds / 3
    settings.properties = properties
    settings.log = log
    shared = KafkaTransport(settings: settings)
  }

  /// What clients are made with.
  public var transport: AdTransport { AdTransport { [shared] _ in ClientOfMany(shared) } }

  /// Whether the network can be reached.
  public var connection: AdConnectionState { shared.connection }

  /// Tells what is still to be told, for at most `timeoutMilliseconds`, and ends the connection.
  ///
  /// - Returns: True when the network has every event of every client.
  @discardableResult
  public func close(timeoutMilliseconds: Int = 5_000) async -> Bool {
    // Closing blocks, and the cooperative pool must not.
    await withCheckedContinuation { continuation in
      _ = OwnerThread("handbill-close") { [shared] in
        continuation.resume(returning: shared.close(timeoutMilliseconds: timeoutMilliseconds))
      }
    }
  }
}

/// One client's part of a shared connection: its end waits for its own events alone.
private final class ClientOfMany: NetworkTransport {
  private let shared: KafkaTransport
  /// Events without the broker's word yet.
  private let waiting = Monitor(0)

  init(_ shared: KafkaTransport) { self.shared = shared }

  var connection: AdConnectionState { shared.connection }

  func send(
    _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
    completion: @escaping @Sendable (RequestResult) -> Void
  ) { shared.send(request, acknowledged: acknowledged, completion: completion) }

  func send(_ event: OutgoingEvent, ended: @escaping @Sendable (EventEnd) -> Void) -> Bool {
    waiting.update { $0 += 1 }
    let isTaken = shared.send(event) { [waiting] end in
      waiting.update { $0 -= 1 }
      ended(end)
    }
    if !isTaken { waiting.update { $0 -= 1 } }
    return isTaken
  }

  func close(timeoutMilliseconds: Int) -> Bool { waiting.wait(timeoutMilliseconds: timeoutMilliseconds) { $0 == 0 } }
}
