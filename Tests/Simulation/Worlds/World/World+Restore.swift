import AdCore
import AdEvents
import Pipeline
import Records
import TestValues

/// What the database knows of its own history: the twin of the schema `timeline`.
struct TimelineTables {
  struct Place: Hashable {
    var service: String
    var partition: Int32
  }

  /// Ads that were served by lost decisions.
  struct LostServes {
    var partition: Int32
    var ids: Range<ServeID>
    /// Billing's last batch before a person had accepted it.
    var billingBatch: Int64
  }

  var ids: [TimelineID] = [.sample(1)]
  var findings: [Place: String] = [:]
  /// Sequences that a timeline leaves out, rising.
  var lost: [LogID: [Range<Int64>]] = [:]
  /// Of each timeline that has ended: from which sequence on nothing of it is genuine.
  var ends: [LogID: [TimelineID: Int64]] = [:]
  var lostServes: [LostServes] = []

  func lostServes(_ partition: Int32) -> [LostServes] { lostServes.filter { $0.partition == partition } }

  /// All timelines that there are end where the sequences of one are left out.
  mutating func end(_ firstSequences: [LogID: Int64]) {
    for (logID, first) in firstSequences {
      for ended in ids where ends[logID]?[ended] == nil { ends[logID, default: [:]][ended] = first }
    }
  }

  /// The sequence that follows.
  func next(_ sequence: Int64, in logID: LogID) -> Int64 {
    (lost[logID] ?? []).reduce(sequence + 1) { next, range in
      range.contains(next) ? range.upperBound : next
    }
  }
}

/// The whole database as it was. The catalogue is none of it: that its versions never go back is tested elsewhere.
struct Backup {
  let rows: [() -> Void]
  let timelines: TimelineTables
  let fundedCount: Int
  let takenAt: Int64
  /// What billing had decided.
  let steps: Int
}

/// A database that goes back, and what people do then.
extension World {
  /// Topics that services write for each other.
  private static let sequenced = [Topic.usage, .acceptedImpressions, .acceptedClicks, .budgets]
  private static let recordsBackMaximum = 8
  private static let hourMilliseconds: Int64 = 3_600_000

  func takeBackup() {
    // So many timelines have names.
    guard plan.hasRestores, timelineCount < 9 else { return }
    // Some are kept, and are hours old when they are needed.
    if backup != nil, plan.keepsFirstBackup || random.chance(700) { return }
    coverage.note(.backupTaken)
    backup = Backup(
      rows: fleets.map { $0.books.backup() }, timelines: timelines, fundedCount: fundedCount,
      takenAt: time.milliseconds, steps: billing.tables.steps.count)
  }

  /// The server is lost, and the backup stands in its place. Of what was on its way to the brokers, some has arrived.
  func restoreBackup() {
    guard let backup, timelineCount < 9 else { return }
    coverage.note(.databaseRestored)
    if time.milliseconds - backup.takenAt > Self.hourMilliseconds, billing.tables.steps.count > backup.steps {
      coverage.note(.restoredFromHourBefore)
    }
    for instance in fleets.flatMap(\.instances) { instance.context.writer.fail() }
    ghosts = []
    for restore in backup.rows { restore() }
    (timelines, fundedCount) = (backup.timelines, backup.fundedCount)
    server += 1
    // It takes time: so no epoch is given twice.
    time.advance(byMilliseconds: 1_000)
    isRestoreDue = false
  }

  /// The only backup is of the beginning: an hour later it is needed.
  func keepFirstBackup(atStep step: Int) {
    switch step {
    case plan.steps / 4: takeBackup()
    case plan.steps / 2: time.advance(byMilliseconds: Self.hourMilliseconds + random.milliseconds(1...1_800_000))
    case plan.steps * 3 / 4: restoreBackup()
    default: break
    }
  }

  func hearOfLostCommits() {
    coverage.note(.commitsLostFound)
    isRestoreDue = true
  }

  /// What the last genuine record of a log tells of its writer's database; or, for `restore accept`, the highest of some.
  func lastMark(_ logID: LogID, isThorough: Bool = false) -> TimelineMark? {
    let log = self.log[logID]
    let told = log.records.filter { $0.offset >= log.firstOffset }.suffix(Self.recordsBackMaximum)
      .compactMap { [fixture] in $0.message.mark(by: fixture.mac) }
    return isThorough ? told.max { ($0.sequence, $0.batch) < ($1.sequence, $1.batch) } : told.last
  }

  /// `handbill restore accept`: a new timeline goes on above what the topics tell.
  func acceptRestore() {
    coverage.note(.restoreAccepted)
    isRestoreDue = false
    timelineCount += 1
    let timeline = TimelineID.sample(timelineCount)
    let now = Timestamp(milliseconds: time.milliseconds)
    noteLostServes(now)
    var firstSequences: [LogID: Int64] = [:]
    for (topic, books) in writers {
      for partition in 0..<partitionCount {
        let logID = LogID(topic: topic.name, partition: partition)
        var next: Int64?
        if let told = lastMark(logID, isThorough: true)?.timeline, !timelines.ids.contains(told) {
          timelines.ids.append(told)
        }
        if let mark = lastMark(logID, isThorough: true), sabotage != .acceptBelow {
          let first = books.row(partition).outputs[0].nextSequence
          let end = max(first, mark.sequence + 1) + 1
          if end - first > 1 { coverage.note(.sequencesPassed) }
          timelines.lost[logID, default: []].append(first..<end)
          firstSequences[logID] = first
          next = end
        }
        books.begin(timeline, partition, nextSequence: next, now: now)
      }
    }
    timelines.end(firstSequences)
    timelines.ids.append(timeline)
    timelines.findings = [:]
  }

  private var writers: [(topic: Topic, books: any ServiceBooks)] {
    Self.sequenced.compactMap { topic in
      fleets.first { $0.books.outputTopics.contains(topic.name) }.map { (topic, $0.books) }
    }
  }

  /// Of partitions in which decisions were lost: ads served between the last one that is known, and now.
  private func noteLostServes(_ now: Timestamp) {
    let before = timelines.lostServes.count
    for partition in 0..<partitionCount where hasLostDecisions(partition) {
      let known = selection.row(partition).batches.last?.committedAt ?? Timestamp(milliseconds: 0)
      let first = ServeID(timestamp: known, randomHigh: 0, randomLow: 0)
      let next = ServeID(timestamp: now, randomHigh: 0, randomLow: 0)
      guard first < next else { continue }
      timelines.lostServes.append(
        .init(partition: partition, ids: first..<next, billingBatch: billing.row(partition).batchNumber))
    }
    if timelines.lostServes.count == before { coverage.note(.restoredWithoutLoss) }
  }

  private func hasLostDecisions(_ partition: Int32) -> Bool {
    let place = TimelineTables.Place(service: selection.name, partition: partition)
    if timelines.findings[place] != nil { return true }
    guard let mark = lastMark(LogID(topic: Topic.usage.name, partition: partition), isThorough: true) else {
      return false
    }
    let row = selection.row(partition)
    return !timelines.ids.contains(mark.timeline) || mark.sequence >= row.outputs[0].nextSequence
      || mark.timeline == timelines.ids.last && mark.batch > row.batchNumber
  }
}

extension OutgoingMessage {
  /// What it tells of its writer's database; nil unless it is genuine.
  fileprivate func mark(by mac: MessageMAC) -> TimelineMark? {
    var received = ReceivedMAC()
    for header in headers { header.withUnsafeBytes { received.header(name: $0, value: $1) } }
    func isGenuine(_ key: UnsafeRawBufferPointer?, _ value: UnsafeRawBufferPointer?) -> Bool {
      received.rejection(by: mac, topic: topic, partition: partition, key: key, value: value) == nil
    }
    let isSound = (key ?? []).withUnsafeBytes { keyBytes in
      (value ?? []).withUnsafeBytes { isGenuine(key == nil ? nil : keyBytes, value == nil ? nil : $0) }
    }
    return isSound ? received.mark : nil
  }
}
