public import AdCore
internal import Synchronization
internal import Threads

/// What a client needs to know of the network.
public struct ClientConfiguration: Sendable {
  /// Kafka's `host:port`, separated by commas.
  public var bootstrapServers: String
  public var identity: ClientIdentity
  public var timing = AdTiming()
  /// True when the broker is the embedded one of a demo.
  public var isBrokerEmbedded = false
  /// How long a request waits for its answer, in milliseconds.
  public var requestDeadlineMilliseconds: Int64 = 10_000
  /// Further Kafka settings by librdkafka's names, such as `security.protocol` and `sasl.password`.
  public var kafkaProperties: [String: String] = [:]

  public init(bootstrapServers: String, identity: ClientIdentity) {
    self.bootstrapServers = bootstrapServers
    self.identity = identity
  }
}

/// Why a banner or an interstitial cannot be made.
public enum AdObjectError: Error, Hashable, Sendable {
  /// The size identifiers are not usable (S3, S4, S5); the text is for the app's developer.
  case invalidSizes(AdError, reason: String)
}

/// The connection of one app's process to the ad network. Make one and keep it; banners and interstitials are made
/// with it.
public final class AdNetworkClient: Sendable {
  package let session: AdSession
  package let timing: AdTiming
  private let ownTransport: KafkaTransport?
  /// The placements that load an interstitial now: one at a time (D5).
  private let loadingPlacements = Mutex<Set<PlacementID>>([])

  /// Starts connecting in the background; what is asked and told meanwhile waits.
  ///
  /// - Parameter tally: Told each request, impression and click that the broker has acknowledged, on a thread of the
  ///   client's own: for an app's own count beside the network's.
  public init(configuration: ClientConfiguration, tally: (@Sendable (AcknowledgedFact) -> Void)? = nil) {
    var settings = KafkaTransportSettings(
      bootstrapServers: configuration.bootstrapServers, apps: [configuration.identity.app])
    settings.isEmbedded = configuration.isBrokerEmbedded
    settings.deadlineMilliseconds = configuration.requestDeadlineMilliseconds
    settings.askAgainMilliseconds = configuration.requestDeadlineMilliseconds / 3
    settings.properties = configuration.kafkaProperties
    let transport = KafkaTransport(settings: settings)
    ownTransport = transport
    session = AdSession(identity: configuration.identity, transport: transport, tally: tally)
    timing = configuration.timing
  }

  /// A client over a transport that others share.
  package init(
    identity: ClientIdentity, transport: any NetworkTransport, timing: AdTiming = AdTiming(),
    tally: (@Sendable (AcknowledgedFact) -> Void)? = nil
  ) {
    ownTransport = nil
    session = AdSession(identity: identity, transport: transport, tally: tally)
    self.timing = timing
  }

  /// Tells what is still to be told, for at most `timeoutMilliseconds`, and ends the connection.
  ///
  /// - Returns: True when the broker has every event.
  @discardableResult
  public func close(timeoutMilliseconds: Int = 5_000) async -> Bool {
    guard let transport = ownTransport else { return true }
    // Closing blocks, and the cooperative pool must not.
    return await withCheckedContinuation { continuation in
      _ = OwnerThread("handbill-close") {
        continuation.resume(returning: transport.close(timeoutMilliseconds: timeoutMilliseconds))
      }
    }
  }

  /// Begins to load an interstitial for the placement; false while another one does (D5).
  func beginLoading(_ placement: PlacementID) -> Bool {
    loadingPlacements.withLock { $0.insert(placement).inserted }
  }

  func endLoading(_ placement: PlacementID) { loadingPlacements.withLock { _ = $0.remove(placement) } }
}
