import AdCore
import AdEvents
import AdSelectionCore
import BillingCore
import ClickTrackingCore
import ImpressionTrackingCore
import Pipeline

/// A network in memory under one seed: log, clocks, tables, instances, devices, and what goes wrong.
final class World {
  let seed: UInt64
  let sabotage: Sabotage?
  var random: SeededRandom
  let plan: WorldPlan
  let catalogPlan: CatalogPlan
  let fixture: Fixture
  let time = VirtualTime()
  let log: SimulatedLog
  let catalog = SimulatedCatalog()
  let devices: Devices
  var coverage = Coverage()
  /// Faults happen only before the drain.
  private(set) var isFaulty = true
  private(set) var failures: [String] = []
  /// What is being appended was audited as it was sent.
  var isAudited = false
  /// The highest sequence that ever came into each log of ours.
  var highestSequences: [LogID: Int64] = [:]

  let selection: Books<SelectionTables>
  let impressions: Books<ImpressionTables>
  let clicks: Books<ClickTables>
  let billing: Books<BillingTables>
  private(set) var fleets: [Fleet] = []
  /// What dead or failed processes had in flight: the broker may still get it.
  var ghosts: [OutgoingMessage] = []
  /// Topics that have not grown yet while the network grows.
  var topicsToGrow: [String] = []
  /// How far billing has followed the catalogue.
  var fundedCount = 0
  /// What the database knows of its own history.
  var timelines = TimelineTables()
  /// Counts the servers that the database has stood on.
  var server = 0
  var backup: Backup?
  /// Somebody has found commits to be lost, and a person is to accept it.
  var isRestoreDue = false
  var timelineCount = 1
  /// What the console says of the billing circuit breaker.
  var isBreakerOpen = false
  private var areKeysRotated = false

  /// All instances of one service.
  final class Fleet {
    let books: any ServiceBooks
    let start: () -> any SimulatedInstance
    var instances: [any SimulatedInstance] = []

    init(books: any ServiceBooks, start: @escaping () -> any SimulatedInstance) {
      self.books = books
      self.start = start
    }
  }

  init(seed: UInt64, sabotage: Sabotage?, fixture: Fixture) throws {
    self.seed = seed
    self.sabotage = sabotage
    self.fixture = fixture
    random = SeededRandom(seed: seed)
    var plan = WorldPlan(using: &random)
    // It shows only where the database goes back, and seldom there.
    if sabotage == .stayOpen { plan.hasRestores = true }
    self.plan = plan
    catalogPlan = CatalogPlan(seed: seed, using: &random)
    log = SimulatedLog(time: time)
    devices = Devices(fixture: fixture)
    var windows = Fixture.windows
    if sabotage == .stretchWindows {
      windows.lateArrivalMilliseconds += 1
      windows.issuedBeforeArrivalMilliseconds += 1
      windows.clockToleranceMilliseconds += 1
    }
    selection = Books(
      service: fixture.adSelection,
      tables: SelectionTables(
        ring: fixture.ring, appRequestsPerHour: plan.appRequestsPerHour, sabotage: sabotage))
    impressions = Books(
      service: fixture.impressionTracking(sabotage),
      tables: ImpressionTables(windows: windows, idsMaximum: plan.idsMaximum, keys: fixture.appKeys))
    clicks = Books(
      service: fixture.clickTracking,
      tables: ClickTables(windows: windows, servesMaximum: plan.servesMaximum, sabotage: sabotage))
    billing = Books(
      service: fixture.billing,
      tables: BillingTables(caps: plan.caps, appHoursMaximum: plan.appHoursMaximum, sabotage: sabotage))
    selection.consumers = [billing]
    impressions.consumers = [clicks, billing]
    clicks.consumers = [billing]
    billing.consumers = [selection]
    log.skewMilliseconds = plan.brokerSkew
    log.regressionMilliseconds = plan.timestampRegression
    log.holePermille = plan.holePermille
    for topic in Self.topics { log.create(topic, partitions: plan.partitions) }
    if plan.clockSkews.count > 1 { coverage.note(.clockSkew) }
    if plan.timestampRegression > 0 { coverage.note(.timestampRegression) }
    catalogPlan.publish(into: catalog, fixture: fixture)
    beat()
    fundBilling()
    try startFleets()
    log.willAppend = { [unowned self] logID, message in
      if !isAudited { audit(message, appendedTo: logID) }
    }
  }

  /// Services read each other's tables: in a circle, which nothing else would free.
  deinit {
    selection.consumers = []
    billing.consumers = []
  }

  static let topics =
    [
      Topic.requests, .impressions, .clicks, .acceptedImpressions, .acceptedClicks, .usage, .budgets, .rejected,
    ].map(\.name) + Samples.answerTopics.sorted()

  private func startFleets() throws {
    fleets = [
      try fleet(fixture.adSelection, selection, readsCatalog: true),
      try fleet(fixture.impressionTracking(sabotage), impressions), try fleet(fixture.clickTracking, clicks),
      try fleet(fixture.billing, billing),
    ]
    for fleet in fleets {
      for _ in 0..<random.number(1...2) { fleet.instances.append(fleet.start()) }
      for partition in 0..<plan.partitions { assign(partition, in: fleet) }
    }
  }

  private func fleet<Tables: SimulatedTables>(
    _ service: Tables.Service, _ books: Books<Tables>, readsCatalog: Bool = false
  ) throws -> Fleet {
    let records = try RecordInput(service)
    return Fleet(books: books) { [unowned self] in
      let clock = SkewedClock(time: time, skewMilliseconds: random.pick(plan.clockSkews))
      let reader = readsCatalog ? CatalogReader(catalog, sabotage: sabotage, now: clock.now) : nil
      return ServiceInstance(
        service: service, records: records, books: books,
        context: InstanceContext(world: self, clock: clock, catalog: reader))
    }
  }

  func fail(_ message: String) { if failures.count < 20 { failures.append(message) } }

  /// What is wrong in it is nobody's fault.
  func silently<Value>(_ body: () -> Value) -> Value {
    let before = failures
    defer { failures = before }
    return body()
  }

  /// - Parameters:
  ///   - event: which device's event it is.
  ///   - timestamp: the arrival, where the message was made for one.
  func append(_ message: OutgoingMessage, event: Int? = nil, timestamp: Int64? = nil) {
    log.append(message, event: event, timestamp: timestamp, using: &random)
    devices.receive(message, in: self)
  }

  /// The least of all clocks: no id may be made more than 5 s after it.
  var slowestClock: Int64 { time.milliseconds + min(plan.clockSkews.min() ?? 0, plan.brokerSkew) }

  /// As many partitions as the topic of requests has.
  var partitionCount: Int32 { log.partitionCount(Topic.requests.name) }

  // MARK: The catalogue

  /// The console says that it lives.
  func beat() {
    catalog.beat(
      at: Timestamp(milliseconds: time.milliseconds + random.pick(plan.clockSkews)),
      stop: isBreakerOpen ? .difference : nil)
  }

  /// Billing takes what the catalogue has said until now, or some of it.
  func fundBilling(limit: Int = .max) {
    let end = limit == .max ? catalog.published.count : min(catalog.published.count, fundedCount + limit)
    for message in catalog.published[fundedCount..<end] {
      billing.tables.fund(message, now: Timestamp(milliseconds: time.milliseconds))
    }
    fundedCount = end
  }

  // MARK: The run

  func run() {
    everybodyWorks()
    everybodyWorks()
    for number in 0..<plan.steps {
      if !failures.isEmpty { return }
      if plan.keepsFirstBackup { keepFirstBackup(atStep: number) }
      step()
    }
    sendRest()
    isFaulty = false
    log.holePermille = 0
    coverage.note(.offsetHole, log.holeCount)
    endCampaigns()
    drain()
    if plan.waitsForEnds, failures.isEmpty {
      time.advance(byMilliseconds: 27 * 3_600_000)
      drain()
      // What is told of ads from budget that has ended comes late.
      let lateCount = random.pick([0, 0, 8])
      if random.chance(700) {
        for campaign in catalogPlan.campaigns { catalog.change(campaign.id) { $0.totalBudget = 0 } }
        fundBilling()
      }
      for _ in 0..<lateCount { devices.act(in: self) }
      if lateCount > 0 {
        drain()
        time.advance(byMilliseconds: 27 * 3_600_000)
        drain()
      }
    }
    if failures.isEmpty { Auditor(world: self).audit() }
  }

  private func step() {
    if !areKeysRotated, time.milliseconds >= Fixture.rotation {
      areKeysRotated = true
      coverage.note(.keysRotated)
    }
    if random.chance(plan.worldFaultPermille) { makeFault() }
    if isRestoreDue, random.chance(100) { acceptRestore() }
    switch random.number(0...19) {
    case 0...5: devices.act(in: self)
    case 6...7: time.advance(byMilliseconds: random.milliseconds(1...1_500))
    case 8: everybodyWorks()
    case 9: consoleActs()
    default: stepInstance(randomInstance())
    }
  }

  func randomInstance() -> any SimulatedInstance { random.pick(fleets.flatMap(\.instances)) }

  private func stepInstance(_ instance: any SimulatedInstance) {
    reopen(instance)
    if let catalog = instance.context.catalog, random.chance(300) {
      catalog.follow(limit: random.number(1...6), now: instance.context.clock.now)
    }
    guard let partition = instance.openPartitions.isEmpty ? nil : random.pick(instance.openPartitions) else { return }
    switch random.number(0...10) {
    case 0...3: instance.work(partition, recordsMaximum: random.number(1...8))
    case 4...5: instance.tick()
    case 6: instance.watchEnds(partition)
    case 7: instance.context.writer.progress()
    case 8: instance.takeReports(everything: false)
    case 9: instance.writeCounts()
    default:
      instance.refreshCounts()
      rebuild(instance)
    }
    if instance.isDead { restart(instance) }
  }

  /// A second in which everybody gets to do something, as on a quiet day; faults happen all the same.
  private func everybodyWorks() {
    time.advance(byMilliseconds: random.milliseconds(200...1_200))
    beat()
    for fleet in fleets {
      for instance in fleet.instances {
        reopen(instance)
        instance.context.catalog?.follow(now: instance.context.clock.now)
        for partition in instance.openPartitions {
          instance.work(partition, recordsMaximum: random.number(1...20))
        }
        instance.tick()
        instance.context.writer.progress()
        instance.takeReports(everything: false)
        if random.chance(500) { instance.writeCounts() }
        rebuild(instance)
        if instance.isDead { restart(instance) }
      }
    }
  }

  private func rebuild(_ instance: any SimulatedInstance) {
    if instance.context.writer.isDown {
      instance.context.writer.rebuild()
      // Told at once, or a while after the new producer already takes messages.
      if random.chance(500) { instance.tellRebuilt() }
    } else if instance.context.writer.isUntold {
      instance.tellRebuilt()
    }
  }

  /// A failed partition is opened again by the instance whose it still is; one that stood still opens what it was
  /// given long ago.
  private func reopen(_ instance: any SimulatedInstance) {
    let closed = instance.assigned.subtracting(instance.openPartitions).sorted()
    if !closed.isEmpty { instance.open(random.pick(closed)) }
    if isFaulty, random.chance(plan.callFaultPermille) {
      instance.openLate(Int32(random.number(0...Int(partitionCount) - 1)))
    }
    if instance.isDead { restart(instance) }
  }

  func restart(_ instance: any SimulatedInstance) {
    guard let fleet = fleets.first(where: { $0.instances.contains { $0 === instance } }) else { return }
    coverage.note(.restart)
    ghosts += instance.context.writer.takeInFlight().filter { _ in random.chance(700) }
    fleet.instances.removeAll { $0 === instance }
    let fresh = fleet.start()
    fleet.instances.append(fresh)
    for partition in instance.assigned.sorted() { assign(partition, in: fleet) }
  }

  /// The partition is one instance's from now on; whoever had it may not know yet.
  func assign(_ partition: Int32, in fleet: Fleet) {
    for instance in fleet.instances { instance.take(partition) }
    random.pick(fleet.instances).give(partition)
  }

  /// Everything is sent, nothing new goes wrong from here on.
  private func sendRest() {
    while !topicsToGrow.isEmpty { growNext() }
    while devices.sentCount < plan.clientMessages { devices.act(in: self) }
    for instance in fleets.flatMap(\.instances) where instance.isDead { restart(instance) }
    for ghost in ghosts { append(ghost) }
    ghosts = []
  }

  /// Nothing is sold any more, so asks come to an end.
  private func endCampaigns() {
    isBreakerOpen = false
    for campaign in catalogPlan.campaigns { catalog.change(campaign.id) { $0.isPaused = true } }
    fundBilling()
  }
}
