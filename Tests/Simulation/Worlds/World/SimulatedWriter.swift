import Pipeline

/// One instance's producer: what is sent becomes records later, in order for each partition; reports come later still.
/// When it fails, a prefix of what was in flight may have become records, and nobody is told.
final class SimulatedWriter: TopicWriter {
  struct InFlight {
    var message: OutgoingMessage
    var receipt: Receipt?
    /// Its sender does not know yet that the database went back.
    var isOfLostCommits: Bool
  }

  private unowned let context: InstanceContext
  private var inFlight: [LogID: [InFlight]] = [:]
  private var reports: [Receipt] = []
  private(set) var isDown = false
  /// Rebuilt, and the partitions have not been told yet.
  private(set) var isUntold = false

  init(context: InstanceContext) { self.context = context }

  func send(_ message: OutgoingMessage, receipt: Receipt?) throws(PipelineError) {
    let fate = try context.fate(of: .send)
    guard !isDown else { throw .producerUnavailable("the producer is being rebuilt") }
    if isUntold {
      context.world.coverage.note(.sentBeforeTold)
      if context.world.sabotage != .sendBeforeTold {
        throw .producerUnavailable("the partitions do not know of the producer that was made anew")
      }
    }
    let logID = LogID(topic: message.topic, partition: message.partition)
    if !context.world.log.has(logID) {
      // A partition that the topic does not have yet: what must arrive ends the producer and is sent again.
      guard receipt != nil else { return }
      context.world.coverage.note(.sentToPartitionOfLater)
      fail()
      throw .producerUnavailable("there is no \(logID)")
    }
    let sent = message.authenticated(by: context.world.fixture.mac, now: context.clock.now)
    let isOfLostCommits = context.openedOn[message.partition].map { $0 != context.world.server } ?? false
    inFlight[logID, default: []].append(
      InFlight(message: sent, receipt: receipt, isOfLostCommits: isOfLostCommits))
    if case .crashAfter = fate { context.isDead = true }
  }

  var isIdle: Bool { inFlight.isEmpty && reports.isEmpty && !isDown && !isUntold }

  /// Some of what is in flight becomes records.
  func progress(everything: Bool = false) {
    for logID in inFlight.keys.sorted() {
      let waiting = inFlight[logID] ?? []
      let count = everything ? waiting.count : context.random.number(0...waiting.count)
      deliver(waiting.prefix(count), isReported: true)
      inFlight[logID] = count == waiting.count ? nil : Array(waiting.dropFirst(count))
    }
  }

  private func deliver(_ messages: ArraySlice<InFlight>, isReported: Bool) {
    for item in messages {
      context.world.deliver(item.message, isOfLostCommits: item.isOfLostCommits)
      if isReported, let receipt = item.receipt { reports.append(receipt) }
      if !isReported { context.world.coverage.note(.deliveredButUnreported) }
    }
  }

  /// Reports that have come by now.
  func takeReports(everything: Bool = false) -> [Receipt] {
    let count = everything ? reports.count : context.random.number(0...reports.count)
    let taken = Array(reports.prefix(count))
    reports.removeFirst(count)
    return taken
  }

  /// The producer fails: of each partition's messages a prefix arrived, and no report of it comes any more.
  func fail() {
    guard !isDown else { return }
    context.world.coverage.note(.producerFailed)
    loseInFlight()
    isDown = true
    isUntold = false
  }

  /// What was in flight arrives in part, later than its sender lived.
  func loseInFlight() {
    for logID in inFlight.keys.sorted() {
      let waiting = inFlight[logID] ?? []
      let count = context.random.number(0...waiting.count)
      deliver(waiting.prefix(count), isReported: false)
      if count < waiting.count { context.world.coverage.note(.droppedInFlight, waiting.count - count) }
    }
    inFlight = [:]
    reports = context.random.chance(500) ? [] : reports
  }

  func rebuild() {
    guard isDown else { return }
    isDown = false
    isUntold = true
  }

  func told() { isUntold = false }

  /// What is in flight when the instance dies: the broker may still get it.
  func takeInFlight() -> [OutgoingMessage] {
    defer { inFlight = [:] }
    return inFlight.keys.sorted().flatMap { logID in
      (inFlight[logID] ?? []).filter { !$0.isOfLostCommits }.map(\.message)
    }
  }
}
