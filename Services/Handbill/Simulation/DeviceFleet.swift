internal import AdClient
internal import AdClientKafka
internal import AdCore
internal import Foundation
internal import Runtime
internal import Synchronization
internal import Threads

/// Many simulated devices over one connection. Each visit is a client of the SDK that asks for an ad, shows it for a
/// while, and is tapped or not. Everything that the broker acknowledges is in the tally.
final class DeviceFleet: Sendable {
  private let settings: SimulationSettings
  private let population: DevicePopulation
  private let transport: KafkaTransport
  private let network: UnreliableNetwork
  private let agenda = Agenda()
  private let garbage: GarbageWriter?
  private let thread: OwnerThread
  let tally: TallyCounter
  private let plan: Mutex<Plan>

  /// What the planning step needs from one time to the next.
  private struct Plan {
    var chance: SeededChance
    var startedAt: MonotonicTime
    var visits = 0
    var garbagePieces = 0
    /// Clients that have tapped: the network lets one earn once a minute, so each taps once.
    var tappers: Set<String> = []
    var isEnding = false
  }

  private static let planMilliseconds: Int64 = 10

  /// Starts connecting; visits begin with `start`.
  init(kafka: KafkaAddress, apps: [AppID], settings: SimulationSettings, startedAt: Timestamp) throws {
    self.settings = settings
    population = DevicePopulation(apps: apps, settings: settings)
    tally = TallyCounter(startedAt: startedAt)
    var transportSettings = KafkaTransportSettings(bootstrapServers: kafka.bootstrapServers, apps: apps)
    transportSettings.isEmbedded = kafka.isEmbedded
    transportSettings.properties = kafka.properties
    transport = KafkaTransport(settings: transportSettings)
    network = UnreliableNetwork(transport, settings: settings, agenda: agenda, tally: tally)
    garbage = settings.garbagePerSecond > 0 ? try GarbageWriter(kafka, seed: settings.seed, tally: tally) : nil
    plan = Mutex(Plan(chance: SeededChance(seed: settings.seed), startedAt: DeviceClock.monotonic))
    let agenda = agenda
    thread = OwnerThread("devices") { agenda.run() }
  }

  /// Begins the visits.
  func start() {
    plan.withLock { $0.startedAt = DeviceClock.monotonic }
    planAhead()
  }

  /// Ends the visits: nobody comes any more, and what was begun is broken off, as when users put their devices away.
  /// Then waits until what was sent is acknowledged and asked is answered, at most `timeoutMilliseconds`.
  ///
  /// Blocks.
  /// - Returns: the tally, and whether everything sent was acknowledged.
  func stop(timeoutMilliseconds: Int) -> (tally: DeviceTally, isComplete: Bool) {
    plan.withLock { $0.isEnding = true }
    agenda.close()
    thread.join()
    garbage?.close()
    _ = transport.waitUntilIdle(timeoutMilliseconds: timeoutMilliseconds)
    let isComplete = transport.close(timeoutMilliseconds: 2_000)
    tally.change { $0.endedAtMilliseconds = SystemClock().now.milliseconds }
    return (tally.current, isComplete)
  }

  /// What the connection last complained of; empty when it did not.
  var lastProblem: String { transport.counts.lastProblem }

  /// Puts the visits and garbage that are due on their way, and itself on the agenda again.
  private func planAhead() {
    let now = DeviceClock.monotonic
    let (visitors, pieces) = plan.withLock { plan -> ([DevicePopulation.Visitor], Int) in
      guard !plan.isEnding else { return ([], 0) }
      let passed = now.milliseconds(since: plan.startedAt)
      let visits = Int(passed) * settings.visitsPerSecond / 1_000 - plan.visits
      let pieces = Int(passed) * settings.garbagePerSecond / 1_000 - plan.garbagePieces
      plan.visits += visits
      plan.garbagePieces += pieces
      return ((0..<visits).compactMap { _ in population.visitor(&plan.chance) }, pieces)
    }
    for visitor in visitors { begin(visitor) }
    for _ in 0..<pieces { garbage?.write() }
    agenda.add(at: now.advanced(byMilliseconds: Self.planMilliseconds)) { [weak self] in self?.planAhead() }
  }

  private func begin(_ visitor: DevicePopulation.Visitor) {
    let tally = tally
    let session = AdSession(identity: visitor.identity, transport: network) { tally.add($0) }
    session.request(visitor.wish) { [weak self] result in
      tally.add(result)
      guard case .ad(let ad) = result else { return }
      self?.show(ad, visitor, session)
    }
  }

  /// What one user does with one ad; drawn at once, done step by step.
  private struct Behaviour {
    var isViewed: Bool
    var viewedAfter: Int64
    var tappedAfter: Int64?
    var actionMilliseconds: Int64
    var leavesApplication: Bool
    var unloadedAfter: Int64
  }

  private func show(_ ad: AdContent, _ visitor: DevicePopulation.Visitor, _ session: AdSession) {
    let behaviour = draw(ad, visitor)
    let placement = visitor.wish.placement
    func report(_ kind: AdReport.Kind, after milliseconds: Int64, sentAfter: Int64? = nil) {
      let at = ad.answeredAt.advanced(byMilliseconds: milliseconds)
      agenda.add(at: ad.answeredAt.advanced(byMilliseconds: sentAfter ?? milliseconds)) {
        session.report(AdReport(kind, .ad(ad), at: at), placement: placement, requestID: nil)
      }
    }
    report(.rendered, after: 60)
    if behaviour.isViewed { report(.viewed, after: behaviour.viewedAfter) }
    if let tap = behaviour.tappedAfter {
      // A tap is told once it is complete (M7): after its action, or after 2 s.
      let complete = tap + min(behaviour.actionMilliseconds, 2_000)
      let click = AdReport.Kind.click(
        actionMilliseconds: min(behaviour.actionMilliseconds, 2_000), leftApplication: behaviour.leavesApplication)
      report(click, after: tap, sentAfter: complete)
    }
    report(.unloaded, after: behaviour.unloadedAfter)
  }

  private func draw(_ ad: AdContent, _ visitor: DevicePopulation.Visitor) -> Behaviour {
    plan.withLock { plan in
      let isViewed = plan.chance.chance(settings.viewBasisPoints)
      let viewedAfter = 1_000 + plan.chance.milliseconds(60...900)
      var behaviour = Behaviour(
        isViewed: isViewed, viewedAfter: viewedAfter, tappedAfter: nil, actionMilliseconds: 0,
        leavesApplication: false, unloadedAfter: viewedAfter + plan.chance.milliseconds(500...8_000))
      let client = visitor.identity.clientID ?? visitor.identity.sessionID
      guard isViewed, plan.chance.chance(settings.clickBasisPoints), plan.tappers.insert(client).inserted else {
        return behaviour
      }
      behaviour.tappedAfter = viewedAfter + plan.chance.milliseconds(150...3_000)
      let isAccident = plan.chance.chance(1_000)
      behaviour.leavesApplication = ad.action.kind == .leave
      behaviour.actionMilliseconds = plan.chance.milliseconds(isAccident ? 200...1_900 : 2_000...9_000)
      behaviour.unloadedAfter = viewedAfter + 12_000
      return behaviour
    }
  }
}
