import AdCore
import AdEvents
import ClickTrackingCore
import ImpressionTrackingCore
import Pipeline

/// What click tracking must have made of what the devices did, whichever came first, click or impression.
struct ClickAudit {
  let world: World

  private struct Identity: Hashable {
    var serveID: UUIDv7
    var kind: UInt8
    var event: Int
  }

  /// A click that must get a verdict, and what that depends on.
  struct Due {
    var idHash: UInt64
    var outcome: UInt8
    var terms: ServedTerms
    var time: Int64
    var arrival: Int64
    var isAccidental: Bool
  }

  func audit() {
    for partition in 0..<world.partitionCount { audit(partition) }
    if world.plan.waitsForEnds, let click = world.clicks.tables.parked.keys.first {
      world.fail("a click of \(click.serveID) still waits although no impression can come any more")
    }
  }

  private func audit(_ partition: Int32) {
    let logID = LogID(topic: Topic.clicks.name, partition: partition)
    let row = world.clicks.row(partition)
    let records = Auditor.Records(world.log[logID])
    var seen = Set<Identity>()
    var due: [Due] = []
    /// Of stopped actions, by the minute.
    var stopped: [Int64: Int64] = [:]
    var forwards = ForwardAudit()
    for batch in row.batches {
      for (index, outcome) in Auditor.outcomes(of: batch, input: 0).enumerated() {
        let offset = batch.inputs[0].firstOffset + Int64(index)
        guard let record = records[batch.incarnations[0], offset],
          let number = record.event ?? Devices.event(of: record.message)
        else {
          continue
        }
        let event = world.devices.events[number]
        let arrival = max(record.timestamp, batch.watermarkBefore.milliseconds)
        var judged = judge(
          event, received: record.timestamp, arrival: arrival, partition: partition, count: batch.partitionCount,
          seen: seen)
        if judged.outcome == 3, let terms = event.terms, case .click(let kind, _, _) = event.content {
          judged.outcome = forwards.due(terms.serveID, kind: kind.rawValue, found: outcome, in: world)
        }
        world.noteTiming(judged.outcome)
        if let key = judged.key { seen.insert(key) }
        if let time = judged.clickTime, let terms = event.terms, case .click(_, let lasted, let left) = event.content {
          due.append(
            Due(
              idHash: Devices.idHash(of: number), outcome: outcome, terms: terms, time: time, arrival: arrival,
              isAccidental: lasted < 2_000 && !left))
          continue
        }
        if judged.outcome == 1, let time = judged.stoppedTime { stopped[time / 60_000, default: 0] += 1 }
        if judged.outcome != outcome {
          world.fail(
            "\(logID): offset \(offset) has outcome \(outcome), \(judged.outcome) was due at \(arrival): \(event.summary)"
          )
        }
      }
    }
    auditVerdicts(partition, due)
    auditCounts(partition, due, stopped)
  }

  /// M6: each is counted once, in its minute.
  private func auditCounts(_ partition: Int32, _ due: [Due], _ stopped: [Int64: Int64]) {
    let decided = Set((world.clicks.tables.bySequence[partition] ?? []).map(\.accepted.idHash))
    var minutes = stopped
    for click in due where decided.contains(click.idHash) { minutes[click.time / 60_000, default: 0] += 1 }
    let counts = world.clicks.tables.counts
    var counted: [Int64: Int64] = [:]
    for (key, count) in counts.written[partition] ?? [:] { counted[key.event.minute, default: 0] += count }
    let name = LogID(topic: Topic.clicks.name, partition: partition)
    if counted != minutes { world.fail("\(name): \(counted) are counted by the minute, not \(minutes)") }
    let rows = Int(minutes.values.reduce(0, +))
    if let complaint = counts.complaint(rows: rows, partition: partition, events: { $0 }) {
      world.fail("\(name): \(complaint)")
    }
  }

  /// Compares the rows with what the rule makes of all clicks, as if every view had come first.
  private func auditVerdicts(_ partition: Int32, _ due: [Due]) {
    let seenAt = world.impressions.tables.impressions.mapValues(\.accepted.eventTime.milliseconds)
    let fates = ClickFates(due, seenAt: seenAt)
    let clicks = Dictionary(due.map { ($0.idHash, $0) }) { first, _ in first }
    var decided = Set<UInt64>()
    let published = LogID(topic: Topic.acceptedClicks.name, partition: partition)
    var sequence: Int64 = 0
    for row in world.clicks.tables.bySequence[partition] ?? [] {
      sequence = world.timelines.next(sequence, in: published)
      let name = "click \(partition)/\(row.sequence)"
      let hash = row.accepted.idHash
      guard row.sequence == sequence, let click = clicks[hash], let fate = fates.byClick[hash],
        decided.insert(hash).inserted
      else { return world.fail("\(name) stands at \(sequence), or twice, or nobody made it") }
      if row.accepted.terms != click.terms || row.accepted.eventTime.milliseconds != click.time
        || row.accepted.arrival.milliseconds != click.arrival
      {
        world.fail("\(name) is not the click that was made")
      }
      if row.accepted.verdict.rawValue != fate.verdict || row.isJudged != fate.isJudged {
        world.fail("\(name) has the verdict \(row.accepted.verdict), \(fate.verdict) was due")
      }
      let direct: UInt8 = fate.verdict == 1 ? 1 : 16 + fate.verdict
      if click.outcome != (row.wasParked ? 4 : direct) { world.fail("\(name) has the outcome \(click.outcome)") }
    }
    let waiting = due.filter { !decided.contains($0.idHash) }
    for (index, click) in waiting.enumerated() {
      let isParked = world.clicks.tables.parked.keys.contains {
        $0.serveID == click.terms.serveID && $0.idHash == click.idHash
      }
      let mayWait = fates.mayWait(click, behind: waiting[..<index])
      if !isParked || !mayWait || click.outcome != 4 { world.fail("a click of \(click.terms.serveID) has no fate") }
    }
  }

  private struct Judged {
    var outcome: UInt8
    var key: Identity?
    /// Of a click that gets a verdict.
    var clickTime: Int64?
    var stoppedTime: Int64?
  }

  /// What must become of an event, or, for a click that gets a verdict, its time.
  private func judge(
    _ event: DeviceEvent, received: Int64, arrival: Int64, partition: Int32, count: Int32, seen: Set<Identity>
  ) -> Judged {
    if event.isKeyGone(arrival: received) { return Judged(outcome: 75) }
    switch event.form {
    case .garbage(let reason): return Judged(outcome: reason)
    case .forged: return Judged(outcome: 74)
    case .unknownKey: return Judged(outcome: 75)
    case .stolen: return Judged(outcome: 88)
    case .sound: break
    }
    guard let terms = event.terms, case .click(let kind, _, _) = event.content else { return Judged(outcome: 0) }
    if terms.partition != partition {
      return Judged(outcome: (0..<count).contains(terms.partition) ? 3 : 80)
    }
    let time: Int64
    switch event.judgedTime(arrival: arrival, lastAfterIssue: Devices.tokenLife + 3_600_000) {
    case .rejected(let reason): return Judged(outcome: reason)
    case .at(let found): time = found
    }
    let key = Identity(serveID: terms.serveID, kind: kind.rawValue, event: event.number)
    if seen.contains(key) { return Judged(outcome: 2) }
    if kind != .click { return Judged(outcome: 1, key: key, stoppedTime: time) }
    if Devices.isRefused(terms) { return Judged(outcome: 82) }
    return Judged(outcome: 0, key: key, clickTime: time)
  }
}
