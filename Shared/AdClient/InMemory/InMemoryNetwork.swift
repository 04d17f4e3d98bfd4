public import AdBasics
internal import AdEvents
internal import Dispatch
internal import Synchronization

/// A network within the process, for an app's unit tests and previews: it answers with test ads, or as it is told, and
/// keeps what it was told.
public final class InMemoryNetwork: Sendable {
  /// How it answers.
  public struct Behaviour: Hashable, Sendable {
    /// How many of a hundred requests get an ad; the others get `inventoryUnavailable`. 0 to 100.
    public var fillPercent = 100
    /// Errors for the next requests, one each, before anything else is answered.
    public var nextErrors: [AdError] = []
    /// How long an answer takes, in milliseconds.
    public var delayMilliseconds = 0
    /// False is a network that nobody reaches: requests get no answer, events wait.
    public var isReachable = true
    /// What a tap does (D11).
    public var action = AdAction(kind: .cover, destination: "https://www.example.com/")
    /// How long an ad's content lives, in milliseconds (D5).
    public var lifetimeMilliseconds: Int64 = 900_000
    /// What an impression brings.
    public var revenue = AdRevenue.none

    public init() {}
  }

  private struct State {
    var behaviour: Behaviour
    var requested: [PlacementID] = []
    var told: [AdHappening] = []
    var conversions: [AdConversion] = []
    var answered = 0
    /// Events that were sent while nobody was reached.
    var waiting: [Waiting] = []
  }

  struct Waiting: Sendable {
    let event: OutgoingEvent
    let ended: @Sendable (EventEnd) -> Void
  }

  private let state: Mutex<State>
  private let queue = DispatchQueue(label: "handbill-in-memory")
  /// The most that is kept of requests, and of what was told; what comes later is not.
  static let toldMaximum = 100_000

  public init(_ behaviour: Behaviour = Behaviour()) { state = Mutex(State(behaviour: behaviour)) }

  /// How it answers from now on.
  public var behaviour: Behaviour {
    get { state.withLock { $0.behaviour } }
    set {
      state.withLock { $0.behaviour = newValue }
      deliver(nil)
    }
  }

  /// The places that ads were asked for, in order.
  public var requested: [PlacementID] { state.withLock { $0.requested } }

  /// What it was told of ads, in order, and of failures without one.
  public var told: [AdHappening] { state.withLock { $0.told } }

  /// What it was told that came of ads for the app (M8), in order.
  public var conversions: [AdConversion] { state.withLock { $0.conversions } }

  /// Takes an event, and those before it, if the network is reachable.
  func deliver(_ event: Waiting?) {
    let arrived = state.withLock { state in
      if let event { state.waiting.append(event) }
      guard state.behaviour.isReachable else { return [] as [Waiting] }
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiting in arrived {
      if let told = AdHappening(waiting.event) { note(told) }
      if case .click(let click) = waiting.event.opened, let conversion = click.conversion { note(conversion) }
      waiting.ended(.acknowledged)
    }
  }

  private func note(_ told: AdHappening) {
    state.withLock { state in
      if state.told.count < InMemoryNetwork.toldMaximum { state.told.append(told) }
    }
  }

  private func note(_ told: ClickEvent.Conversion) {
    state.withLock { state in
      guard state.conversions.count < InMemoryNetwork.toldMaximum else { return }
      state.conversions.append(AdConversion(told.kind, value: told.value, currency: told.currency))
    }
  }

  /// What the next request gets.
  func answer(_ request: AdRequest) -> RequestResult {
    state.withLock { state in
      if state.requested.count < InMemoryNetwork.toldMaximum { state.requested.append(request.placement) }
      let behaviour = state.behaviour
      guard behaviour.isReachable else { return .noAnswer }
      if !state.behaviour.nextErrors.isEmpty {
        return .error(state.behaviour.nextErrors.removeFirst(), detail: "as the test wants it")
      }
      state.answered += 1
      // Evenly spread: of any hundred in a row just so many.
      let isFilled = state.answered * behaviour.fillPercent / 100 > (state.answered - 1) * behaviour.fillPercent / 100
      guard isFilled else { return .error(.inventoryUnavailable) }
      return InMemoryNetwork.testAd(request, behaviour)
    }
  }

  private static func testAd(_ request: AdRequest, _ behaviour: Behaviour) -> RequestResult {
    let selection = SizeSelection.select(
      required: request.requiredSizes, current: request.currentSize, device: request.device,
      isInterstitial: request.isInterstitial)
    switch selection {
    case .refused(let error, let reason): return .error(error, detail: reason)
    case .resolved(let required, _):
      guard let ad = AdID("test-ad") else { return .invalid }
      return .ad(
        AdContent(
          ad: ad, images: Dictionary(uniqueKeysWithValues: required.map { ($0, picture($0)) }),
          action: behaviour.action, lifetimeMilliseconds: behaviour.lifetimeMilliseconds, isTest: true,
          serveID: DeviceClock.newID(), requestID: request.requestID, token: [1], answeredAt: DeviceClock.monotonic,
          revenue: behaviour.revenue))
    }
  }

  /// A picture that needs no network: the size's name on grey, as an SVG within the URL.
  private static func picture(_ size: AdSize) -> String {
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='\(size.width)' height='\(size.height)'%3E"
      + "%3Crect width='100%25' height='100%25' fill='%23ccc'/%3E%3Ctext x='50%25' y='50%25' "
      + "text-anchor='middle' dominant-baseline='middle'%3ETest ad \(size.name)%3C/text%3E%3C/svg%3E"
  }

  func run(_ work: @escaping @Sendable () -> Void) {
    let delay = behaviour.delayMilliseconds
    guard delay > 0 else { return work() }
    queue.asyncAfter(deadline: .now() + .milliseconds(delay), execute: work)
  }
}
