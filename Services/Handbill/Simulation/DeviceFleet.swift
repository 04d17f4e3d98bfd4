internal import AdClient
internal import AdCore
internal import Runtime
internal import Synchronization
internal import Threads

/// Many simulated devices in one process. Each visit is a client of the SDK with a banner or a full-screen ad, used as
/// an app uses them. Everything that the network has acknowledged is in the tally.
final class DeviceFleet: Sendable {
  private let settings: SimulationSettings
  private let population: DevicePopulation
  private let connection: DeviceWay.Connection
  private let network: UnreliableNetwork
  private let agenda = Agenda()
  private let garbage: GarbageWriter?
  private let thread: OwnerThread
  let tally: TallyCounter
  private let plan: Mutex<Plan>
  private let problem: Mutex<String>

  /// What the planning step needs from one time to the next.
  private struct Plan {
    var chance: SeededChance
    var startedAt: MonotonicTime
    var visits = 0
    var garbagePieces = 0
    /// Clients that have tapped: see `VisitPlan`.
    var tappers: Set<String> = []
    var isEnding = false
  }

  /// Those who are there now.
  @DeviceActor
  private final class Present {
    var visits: [Int: Visit] = [:]

    nonisolated init() {}
  }

  private let present = Present()
  private static let planMilliseconds: Int64 = 10

  /// Starts connecting; visits begin with `start`.
  ///
  /// - Parameter garbage: where garbage is written, if any is.
  init(
    _ way: DeviceWay, garbage: KafkaAddress?, apps: [AppID], settings: SimulationSettings, startedAt: Timestamp
  ) throws {
    self.settings = settings
    population = DevicePopulation(apps: apps, settings: settings)
    tally = TallyCounter(startedAt: startedAt)
    problem = Mutex("")
    connection = try DeviceWay.Connection(way, apps: apps) { _ in }
    network = UnreliableNetwork(settings: settings, agenda: agenda, tally: tally)
    self.garbage =
      if settings.garbagePerSecond > 0, let garbage {
        try GarbageWriter(garbage, seed: settings.seed, tally: tally)
      } else { nil }
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
    let isComplete =
      waitForDevices(timeoutMilliseconds) { [present] in for visit in present.visits.values { visit.leave() } }
      && waitUntilIdle(timeoutMilliseconds)
    let isClosed = Monitor(false)
    Task { [connection] in
      await connection.close()
      isClosed.update { $0 = true }
    }
    _ = isClosed.wait(timeoutMilliseconds: timeoutMilliseconds) { $0 }
    tally.change { $0.endedAtMilliseconds = SystemClock().now.milliseconds }
    return (tally.current, isComplete)
  }

  /// Blocks until everything is answered and acknowledged, and nothing more follows from it: what an ad's object is told
  /// when it is gone goes to the network once the devices come to it.
  private func waitUntilIdle(_ timeoutMilliseconds: Int) -> Bool {
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    while network.waitUntilIdle(timeoutMilliseconds: Int(deadline.remainingMilliseconds)) {
      let begun = network.begun
      guard waitForDevices(Int(deadline.remainingMilliseconds), do: {}) else { return false }
      if network.begun == begun { return true }
    }
    return false
  }

  /// Blocks until the devices have done it, behind all that they had to do.
  private func waitForDevices(_ timeoutMilliseconds: Int, do work: @escaping @DeviceActor () -> Void) -> Bool {
    let isDone = Monitor(false)
    Task { @DeviceActor in
      work()
      isDone.update { $0 = true }
    }
    return isDone.wait(timeoutMilliseconds: timeoutMilliseconds) { $0 }
  }

  /// What a client last complained of; empty when none did.
  var lastProblem: String { problem.withLock { $0 } }

  /// Puts the visits and garbage that are due on their way, and itself on the agenda again.
  private func planAhead() {
    let now = DeviceClock.monotonic
    let (visits, pieces) = plan.withLock { plan -> ([Coming], Int) in
      guard !plan.isEnding else { return ([], 0) }
      let passed = now.milliseconds(since: plan.startedAt)
      let visits = Int(passed) * settings.visitsPerSecond / 1_000 - plan.visits
      let pieces = Int(passed) * settings.garbagePerSecond / 1_000 - plan.garbagePieces
      plan.visits += visits
      plan.garbagePieces += pieces
      return ((0..<visits).map { coming(&plan, number: plan.visits - $0) }, pieces)
    }
    if !visits.isEmpty {
      Task { @DeviceActor in
        for coming in visits { begin(coming) }
      }
    }
    for _ in 0..<pieces { garbage?.write() }
    agenda.add(at: now.advanced(byMilliseconds: Self.planMilliseconds)) { [weak self] in self?.planAhead() }
  }

  private struct Coming: Sendable {
    let number: Int
    let visitor: DevicePopulation.Visitor
    let plan: VisitPlan
  }

  private func coming(_ plan: inout Plan, number: Int) -> Coming {
    let visitor = population.visitor(&plan.chance)
    var chance = plan.chance
    // Without a client id a limit goes by the session, which is this visit's alone.
    let drawn = VisitPlan.drawn(
      settings, mayTap: { visitor.clientID.map { plan.tappers.insert($0).inserted } ?? true }, &chance)
    plan.chance = chance
    return Coming(number: number, visitor: visitor, plan: drawn)
  }

  @DeviceActor
  private func begin(_ coming: Coming) {
    let visitor = coming.visitor
    var options = AdClientOptions()
    options.device = visitor.device
    options.country = visitor.country
    options.clientID = visitor.clientID
    options.limitsTracking = visitor.clientID == nil
    options.storage = .none
    options.log = { [weak self] entry in
      if entry.level == .warning { self?.problem.withLock { $0 = entry.text } }
    }
    do {
      let visitTally = VisitTally(tally)
      let client = try AdNetworkClient(
        app: visitor.app.text, key: visitor.appKey, via: network.over(connection.transport), options: options,
        tally: { visitTally.add($0) })
      let surroundings = Visit.Surroundings(
        agenda: agenda, tally: tally, wentToStore: { [weak self] in self?.install($0, options) },
        ended: { [present] in present.visits[$0.number] = nil })
      present.visits[coming.number] = try Visit(
        number: coming.number, visitor, plan: coming.plan, client: client, in: surroundings)
      // Whoever came last may have come too late.
      if plan.withLock({ $0.isEnding }) { present.visits[coming.number]?.leave() }
    } catch { problem.withLock { $0 = "\(error)" } }
  }

  /// The user installs what a store link leads to, and agrees that its app tells so (M8).
  @DeviceActor
  private func install(_ destination: String, _ options: AdClientOptions) {
    guard let link = StoreLink(destination) else { return }
    do {
      let installTally = VisitTally(tally)
      let client = try AdNetworkClient(
        app: link.app.text, key: SeedNetwork.key(link.app, .distribution), via: network.over(connection.transport),
        options: options, tally: { installTally.add($0) })
      client.tell(AdConversion(.install), reference: link.reference, hasConsent: true)
      client.flush()
    } catch { problem.withLock { $0 = "\(error)" } }
  }
}
