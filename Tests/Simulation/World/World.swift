import AdCore
import AdEvents
import ClickTrackingCore
import ImpressionTrackingCore
import Pipeline

/// How large a world is and how badly things go in it; made from the seed.
struct WorldPlan {
  var partitions: Int32
  var steps: Int
  var clientEvents: Int
  /// In thousandths of all port calls.
  var callFaultPermille: Int
  var holePermille: Int
  var clockSkews: [Int64]
  var brokerSkew: Int64
  var timestampRegression: Int64
  /// In thousandths of all steps.
  var worldFaultPermille: Int
  var idsMaximum: Int
  /// The end comes only after the last click that waits could have been decided.
  var waitsForParked: Bool

  init(using random: inout SeededRandom) {
    partitions = Int32(random.number(1...3))
    steps = random.number(60...160)
    clientEvents = random.number(8...36)
    callFaultPermille = random.pick([0, 5, 15, 40])
    holePermille = random.pick([0, 0, 100, 300])
    // Any two of our clocks, the broker's included, lie at most 5 s apart.
    let isSkewed = random.chance(500)
    clockSkews = isSkewed ? (0..<8).map { _ in random.milliseconds(-2_500...2_500) } : [0]
    brokerSkew = isSkewed ? random.milliseconds(-2_500...2_500) : 0
    timestampRegression = isSkewed && random.chance(400) ? 2_500 - abs(brokerSkew) : 0
    worldFaultPermille = random.pick([0, 80, 150, 250])
    idsMaximum = random.chance(300) ? 64 : 1_024
    waitsForParked = random.chance(500)
  }
}

/// A network in memory under one seed: log, clocks, tables, instances, devices, and what goes wrong.
final class World {
  let seed: UInt64
  let sabotage: Sabotage?
  var random: SeededRandom
  let plan: WorldPlan
  let time = VirtualTime()
  let log: SimulatedLog
  let devices: Devices
  var coverage = Coverage()
  /// Faults happen only before the drain.
  private(set) var isFaulty = true
  private(set) var failures: [String] = []
  /// What is being appended was audited as it was sent.
  private var isAudited = false
  /// The highest sequence in each log of ours.
  private var highestSequences: [LogPlace: (incarnation: Int, sequence: Int64)] = [:]

  let impressions: Books<ImpressionTables>
  let clicks: Books<ClickTables>
  let ledger: Books<RecorderTables>
  private(set) var fleets: [Fleet] = []
  /// What dead or failed processes had in flight: the broker may still get it.
  private var ghosts: [OutgoingMessage] = []

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

  init(seed: UInt64, sabotage: Sabotage?, fixture: Fixture) {
    self.seed = seed
    self.sabotage = sabotage
    random = SeededRandom(seed: seed)
    plan = WorldPlan(using: &random)
    log = SimulatedLog(time: time)
    devices = Devices(fixture: fixture, partitions: plan.partitions)
    var windows = Windows()
    if sabotage == .stretchWindows {
      windows.lateArrivalMilliseconds += 1
      windows.issuedBeforeArrivalMilliseconds += 1
      windows.clockToleranceMilliseconds += 1
    }
    let tracking = fixture.impressionTracking
    impressions = Books(
      service: tracking, tables: ImpressionTables(windows: windows, idsMaximum: plan.idsMaximum))
    let clickTracking = fixture.clickTracking
    clicks = Books(service: clickTracking, tables: ClickTables(windows: windows))
    ledger = Books(service: Recorder(), tables: RecorderTables())
    impressions.consumers = [clicks, ledger]
    clicks.consumers = [ledger]
    log.skewMilliseconds = plan.brokerSkew
    log.regressionMilliseconds = plan.timestampRegression
    log.holePermille = plan.holePermille
    for topic in [Topic.impressions, .clicks, .acceptedImpressions, .acceptedClicks, .rejected] {
      log.create(topic.name, partitions: plan.partitions)
    }
    if plan.clockSkews.count > 1 { coverage.note(.clockSkew) }
    if plan.timestampRegression > 0 { coverage.note(.timestampRegression) }
    fleets = [
      Fleet(books: impressions) { [unowned self] in
        ServiceInstance(service: tracking, books: impressions, context: makeContext())
      },
      Fleet(books: clicks) { [unowned self] in
        ServiceInstance(service: clickTracking, books: clicks, context: makeContext())
      },
      Fleet(books: ledger) { [unowned self] in
        ServiceInstance(service: Recorder(), books: ledger, context: makeContext())
      },
    ]
    for fleet in fleets {
      for _ in 0..<random.number(1...2) { fleet.instances.append(fleet.start()) }
      for partition in 0..<plan.partitions { assign(partition, in: fleet) }
    }
    log.willAppend = { [unowned self] place, message in
      if !isAudited { audit(message, appendedTo: place) }
    }
  }

  /// Whoever publishes leaves no sequence out.
  private func auditOrder(_ sequence: Int64, in place: LogPlace) {
    let incarnation = log[place].incarnation
    if let known = highestSequences[place], known.incarnation == incarnation {
      if sequence > known.sequence + 1 { fail("\(place): sequence \(sequence) came after \(known.sequence)") }
      highestSequences[place] = (incarnation, max(known.sequence, sequence))
    } else {
      highestSequences[place] = (incarnation, sequence)
    }
  }

  private func makeContext() -> InstanceContext {
    InstanceContext(
      world: self, clock: SkewedClock(time: time, skewMilliseconds: random.pick(plan.clockSkews)))
  }

  func fail(_ message: String) { if failures.count < 20 { failures.append(message) } }

  func append(_ message: OutgoingMessage) { log.append(message, using: &random) }

  /// What a producer sent comes into the log; of our own topics seldom as something that does not decode.
  func deliver(_ message: OutgoingMessage) {
    let place = LogPlace(topic: message.topic, partition: message.partition)
    if let sequence = audit(message, appendedTo: place) { auditOrder(sequence, in: place) }
    var message = message
    if isFaulty, isSequenced(place), random.chance(15) {
      coverage.note(.recordCorrupted)
      message.value = message.value.map { Array($0.prefix($0.count / 2)) }
    }
    isAudited = true
    append(message)
    isAudited = false
  }

  private func isSequenced(_ place: LogPlace) -> Bool {
    [Topic.acceptedImpressions.name, Topic.acceptedClicks.name].contains(place.topic)
  }

  /// The least of all clocks: no id may be made more than 5 s after it.
  var slowestClock: Int64 { time.milliseconds + min(plan.clockSkews.min() ?? 0, plan.brokerSkew) }

  // MARK: The run

  func run() {
    for _ in 0..<plan.steps {
      if !failures.isEmpty { return }
      step()
    }
    sendRest()
    isFaulty = false
    log.holePermille = 0
    coverage.note(.offsetHole, log.holeCount)
    drain()
    if plan.waitsForParked, failures.isEmpty {
      time.advance(byMilliseconds: 27 * 3_600_000)
      drain()
    }
    if failures.isEmpty { Auditor(world: self).audit() }
  }

  private func step() {
    if random.chance(plan.worldFaultPermille) { makeFault() }
    switch random.number(0...9) {
    case 0...2: devices.act(in: self)
    case 3: time.advance(byMilliseconds: random.milliseconds(1...1_500))
    default:
      guard let instance = randomInstance() else { return }
      stepInstance(instance)
    }
  }

  private func randomInstance() -> (any SimulatedInstance)? { random.pick(fleets.flatMap(\.instances)) }

  private func stepInstance(_ instance: any SimulatedInstance) {
    reopen(instance)
    guard let partition = instance.openPartitions.isEmpty ? nil : random.pick(instance.openPartitions) else { return }
    switch random.number(0...9) {
    case 0...3: instance.work(partition, recordsMaximum: random.number(1...8))
    case 4...5: instance.tick(partition)
    case 6: instance.watchEnds(partition)
    case 7: instance.context.writer.progress()
    case 8: instance.takeReports(everything: false)
    default: rebuild(instance)
    }
    if instance.isDead { restart(instance) }
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

  /// A failed partition is opened again where the group still has it.
  private func reopen(_ instance: any SimulatedInstance) {
    let closed = instance.assigned.subtracting(instance.openPartitions).sorted()
    if !closed.isEmpty { instance.open(random.pick(closed)) }
    if instance.isDead { restart(instance) }
  }

  private func restart(_ instance: any SimulatedInstance) {
    guard let fleet = fleets.first(where: { $0.instances.contains { $0 === instance } }) else { return }
    coverage.note(.restart)
    ghosts += instance.context.writer.takeInFlight().filter { _ in random.chance(700) }
    fleet.instances.removeAll { $0 === instance }
    let fresh = fleet.start()
    fleet.instances.append(fresh)
    for partition in instance.assigned.sorted() { assign(partition, in: fleet) }
  }

  /// The group gives the partition to one instance; whoever had it may not know yet.
  private func assign(_ partition: Int32, in fleet: Fleet) {
    for instance in fleet.instances { instance.assigned.remove(partition) }
    random.pick(fleet.instances).assigned.insert(partition)
  }

  // MARK: What goes wrong

  private func makeFault() {
    switch random.number(0...9) {
    case 0...2:
      let fleet = random.pick(fleets)
      coverage.note(.handover)
      let partition = Int32(random.number(0...Int(plan.partitions) - 1))
      if random.chance(500) { fleet.instances.append(fleet.start()) }
      assign(partition, in: fleet)
      if fleet.instances.count > 3 { kill(fleet.instances[0]) }
    case 3: randomInstance()?.context.writer.fail()
    case 4: if let instance = randomInstance() { kill(instance) }
    case 5:
      if !ghosts.isEmpty {
        coverage.note(.lateRecordOfZombie)
        append(ghosts.remove(at: random.number(0...ghosts.count - 1)))
      }
    case 6: repeatRecord()
    case 7: retain()
    case 8: replaceLog()
    default:
      coverage.note(.clockJump)
      time.advance(byMilliseconds: random.milliseconds(10_000...3_600_000))
    }
  }

  private func kill(_ instance: any SimulatedInstance) {
    instance.context.isDead = true
    restart(instance)
  }

  private func place(_ topic: Topic) -> LogPlace {
    LogPlace(topic: topic.name, partition: Int32(random.number(0...Int(plan.partitions) - 1)))
  }

  /// The broker has an old record once more, behind newer ones.
  private func repeatRecord() {
    let place = place(random.pick([.acceptedImpressions, .acceptedClicks]))
    guard !log[place].records.isEmpty else { return }
    coverage.note(.recordAppendedTwice)
    isAudited = true
    log.append(random.pick(log[place].records).message, using: &random)
    isAudited = false
  }

  private func retain() {
    let place = place(random.pick([.acceptedImpressions, .acceptedClicks]))
    let end = log[place].endOffset
    guard end > 0 else { return }
    log.removeBefore(random.milliseconds(0...end), in: place)
    let input = place.topic == Topic.acceptedImpressions.name ? 0 : 1
    let next = ledger.row(place.partition).inputs[input].nextOffset
    if next < log[place].firstOffset { coverage.note(.retentionPassedConsumer) }
  }

  private func replaceLog() {
    let place = place(random.pick([.acceptedImpressions, .acceptedClicks]))
    guard log[place].endOffset > 0, random.chance(300) else { return }
    log.replace(place)
  }

  // MARK: The end

  private func sendRest() {
    while devices.sentCount < plan.clientEvents { devices.act(in: self) }
    for ghost in ghosts { append(ghost) }
    ghosts = []
  }

  /// Without new faults everything must come to rest.
  private func drain() {
    for round in 0..<60 {
      time.advance(byMilliseconds: 1_000)
      for fleet in fleets {
        for instance in fleet.instances { settle(instance) }
      }
      if round > 3, isAtRest { return }
    }
    for fleet in fleets { fail("\(fleet.books.name) did not come to rest: \(describe(fleet))") }
  }

  private func settle(_ instance: any SimulatedInstance) {
    instance.context.writer.rebuild()
    if instance.context.writer.isUntold { instance.tellRebuilt() }
    for partition in instance.assigned.sorted() where !instance.openPartitions.contains(partition) {
      instance.open(partition)
    }
    for partition in instance.openPartitions {
      for _ in 0..<3 { instance.work(partition, recordsMaximum: 50) }
      instance.watchEnds(partition)
      instance.tick(partition)
    }
    instance.context.writer.progress(everything: true)
    instance.takeReports(everything: true)
  }

  private var isAtRest: Bool {
    fleets.allSatisfy { fleet in
      let isWriterIdle = fleet.instances.allSatisfy(\.context.writer.isIdle)
      return isWriterIdle
        && (0..<plan.partitions).allSatisfy { partition in
          fleet.instances.contains { $0.assigned.contains(partition) && $0.isCaughtUp(partition) }
        }
    } && isEverythingTaken
  }

  /// Everything that was produced was taken.
  private var isEverythingTaken: Bool {
    (0..<plan.partitions).allSatisfy {
      let shown = impressions.row($0).outputs[0].nextSequence - 1
      let clicked = clicks.row($0).outputs[0].nextSequence - 1
      let taken = ledger.row($0).inputs.map(\.takenSequence)
      return taken == [shown, clicked] && clicks.row($0).inputs[1].takenSequence == shown
    }
  }

  private func describe(_ fleet: Fleet) -> String {
    (0..<plan.partitions).map { partition in
      let row = fleet.books.partitions[partition]
      let ends = fleet.books.inputTopics.map { log[LogPlace(topic: $0, partition: partition)].endOffset }
      return
        "\(partition): inputs \(row?.inputs.map { "\($0.nextOffset)/\($0.takenSequence)" } ?? []) of \(ends), outputs "
        + "\(row?.outputs.map { "\($0.emittedSequence)/\($0.nextSequence)" } ?? []), outbox \(row?.outbox.count ?? 0)"
    }.joined(separator: "; ")
  }
}
