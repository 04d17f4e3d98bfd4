public import AdBasics
internal import AdEvents
internal import Synchronization
internal import Threads

/// Why a banner or an interstitial cannot be made.
public enum AdObjectError: Error, Hashable, Sendable {
  /// The size identifiers are not usable (S3, S4, S5); the text is for the app's developer.
  case invalidSizes(AdError, reason: String)
  /// The placement is no name: 1 to 40 of a-z, 0-9 and -.
  case invalidPlacement(String)
}

/// The connection of one app's process to the ad network. Make one and keep it; banners and interstitials are made
/// with it.
public final class AdNetworkClient: Sendable {
  package let session: AdSession
  package let timing: AdTiming
  /// What was asked, what came of it and why not, as text for the app's developer.
  public let inspector: AdInspector
  /// The images of its ads; nil where the app's own drawing fetches them (``AdClientOptions/fetchesImages``).
  public let images: AdImages?
  let clock: AdTestClock?
  private let store: ClientStore?
  private let log: AdLog
  /// The client id that the app has for its user; nil where it has none, and after a reset.
  private let appsClientID: Mutex<String?>
  private let ownTransport: (any NetworkTransport)?
  private let connectionOf: @Sendable () -> AdConnectionState
  /// The placements that load an interstitial now: one at a time (D5).
  private let loadingPlacements = Mutex<Set<PlacementID>>([])

  /// Starts connecting in the background; what is asked and told meanwhile waits.
  ///
  /// - Parameters:
  ///   - app: The app's id, as registered with the network.
  ///   - key: The app's registered key for this kind of build (A1).
  ///   - transport: The way to the network, such as `.edge("https://ads.example")`. Clients that are made with the same
  ///     value share its connections.
  ///   - options: What the app says of itself and its device; every one has a default.
  ///   - tally: Told each request, impression and click that the network has acknowledged, on a thread of the client's
  ///     own: for an app's own count beside the network's.
  /// - Throws: `configurationError` where the id is none.
  public convenience init(
    app: String, key: String, via transport: AdTransport, options: AdClientOptions = AdClientOptions(),
    tally: (@Sendable (AcknowledgedFact) -> Void)? = nil
  ) throws(AdFailure) {
    guard let id = AppID(app) else {
      throw AdFailure(.configurationError, detail: "the app's id is 1 to 40 of a-z, 0-9 and -, the first not -")
    }
    guard let country = options.resolvedCountry else {
      throw AdFailure(.configurationError, detail: "the country is two letters in upper case, such as US")
    }
    if let clientID = options.clientID, !(1...FieldLimits.clientIDBytesMaximum).contains(clientID.utf8.count) {
      throw AdFailure(
        .configurationError, detail: "A8: a client id has 1 to \(FieldLimits.clientIDBytesMaximum) bytes")
    }
    var options = options
    if options.storage == .standard { options.storage = transport.storage }
    let log = options.log ?? { _ in }
    let store = options.storage == .none ? nil : ClientStore.open(options.storage, app: id, log: log)
    let clientID = options.clientID ?? store?.clientID() ?? ClientStore.newClientID()
    let identity = ClientIdentity(
      app: id, appKey: key, clientID: options.limitsTracking ? nil : clientID,
      sessionID: ClientStore.newClientID(), country: country, device: options.device, segments: options.segments)
    if options.limitsTracking { store?.forgetClientID() }
    self.init(identity: identity, via: transport, store: store, options: options, tally: tally)
  }

  private init(
    identity: ClientIdentity, via transport: AdTransport, store: ClientStore?, options: AdClientOptions,
    tally: (@Sendable (AcknowledgedFact) -> Void)?
  ) {
    let log = options.log ?? { _ in }
    let context = AdTransport.Context(
      app: identity.app, appKey: identity.appKey,
      deadlineMilliseconds: min(max(1, options.requestDeadlineMilliseconds), 60_000), log: log)
    let bare = transport.make(context)
    // Without a store events live as long as the transport.
    let own: any NetworkTransport = store.map { DurableTransport(bare, store: $0) } ?? bare
    self.store = store
    self.log = log
    appsClientID = Mutex(options.clientID)
    ownTransport = own
    connectionOf = { own.connection }
    clock = options.testClock
    images =
      options.fetchesImages
      ? AdImages(
        folder: options.storage.imageFolder(for: identity.app), bytesMaximum: options.imageBytesMaximum, log: log)
      : nil
    session = AdSession(identity: identity, transport: own, clock: clock, tally: tally)
    timing = AdTiming()
    inspector = AdNetworkClient.inspector(session, store, clock, connection: connectionOf)
  }

  /// A client over a transport that others share, which keeps nothing on disk.
  package init(
    identity: ClientIdentity, transport: any NetworkTransport, timing: AdTiming = AdTiming(),
    tally: (@Sendable (AcknowledgedFact) -> Void)? = nil
  ) {
    store = nil
    log = { _ in }
    appsClientID = Mutex(identity.clientID)
    ownTransport = nil
    connectionOf = { transport.connection }
    session = AdSession(identity: identity, transport: transport, tally: tally)
    self.timing = timing
    clock = nil
    images = nil
    inspector = AdNetworkClient.inspector(session, nil, nil, connection: connectionOf)
  }

  private static func inspector(
    _ session: AdSession, _ store: ClientStore?, _ clock: AdTestClock?,
    connection: @escaping @Sendable () -> AdConnectionState
  ) -> AdInspector {
    let head: @Sendable () -> [String] = { [session] in
      let identity = session.identity
      let state =
        switch connection() {
        case .connecting: "connecting"
        case .connected: "connected"
        case .disconnected(let problem): "not connected: \(problem)"
        }
      return [
        "app \(identity.app), \(identity.device), country \(identity.country), "
          // A screen is seen by others, and who knows a client id can tell of its ads.
          + (identity.clientID.map { "client \($0.prefix(min(8, $0.count / 2)))…" }
            ?? "no client id: tracking is limited (A8)"),
        "\(state); \(store?.eventCount ?? session.waitingCount) events wait",
      ]
    }
    return AdInspector(now: { clock?.now ?? DeviceClock.monotonic }, head: head)
  }

  /// The time that ad objects go by.
  var now: MonotonicTime { session.now }

  /// Whether the network can be reached, and what to do where it cannot.
  public var connection: AdConnectionState { connectionOf() }

  /// Who asks, as the network is told.
  public var identity: ClientIdentity { session.identity }

  /// Events that the network does not have yet. They outlive the process, but for those that a full disk did not take,
  /// and where ``AdClientOptions/storage`` keeps nothing on disk.
  public var eventsWaiting: Int { store?.eventCount ?? session.waitingCount }

  /// Events that will not be counted, since the queue was made: not taken because it was full, where the newest is
  /// refused, or refused by the network. The log has the reason of each.
  public var eventsRefused: Int { store?.refusedCount ?? session.refusedCount }

  /// Makes a new client id: from now on the user is another one to the network (A8).
  public func resetClientID() {
    store?.forgetClientID()
    appsClientID.withLock { $0 = nil }
    session.setClientID(session.identity.clientID == nil ? nil : knownClientID)
  }

  /// The user limits tracking, or does no longer: the client id is dropped and forgotten; or, where there is none, it is the
  /// app's own again, else a new one (A8).
  public func setLimitsTracking(_ limits: Bool) {
    if limits {
      store?.forgetClientID()
      session.setClientID(nil)
    } else if session.identity.clientID == nil {
      session.setClientID(knownClientID)
    }
  }

  /// The app's own id for its user, else the one that is kept, else a new one.
  private var knownClientID: String {
    appsClientID.withLock { $0 } ?? store?.clientID() ?? ClientStore.newClientID()
  }

  /// Tells at once what waits for company, as before the app goes to the background.
  public func flush() { ownTransport?.flush() }

  /// Tells what is still to be told, for at most `timeoutMilliseconds`, and ends the connection. What is left stays on
  /// disk, and is told when the app runs again.
  ///
  /// - Returns: True when the network has every event.
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

  /// How long a banner that is made now waits before it asks, in milliseconds: the network remembers what an earlier
  /// process of the app asked for the same place, and sooner is `loadingThrottled` (D2). The log says so.
  func firstAskDelay(_ placement: PlacementID) -> Int64 {
    guard let asked = store?.lastAsk(placement) else { return 0 }
    let passed = DeviceClock.wall.milliseconds(since: asked)
    // A clock that was set meanwhile says nothing.
    guard passed >= 0, passed < timing.refreshMilliseconds else { return 0 }
    let delay = timing.refreshMilliseconds - passed
    log(AdLogEntry(.debug, "\(placement) was asked for just now: asked again in \((delay + 999) / 1_000) s (D2)"))
    return delay
  }

  func noteAsk(_ placement: PlacementID) { store?.noteAsk(placement, at: DeviceClock.wall) }

  /// Why there was no answer, as far as the connection knows.
  var connectionDetail: String { connection.problem?.detail ?? "" }
}
