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
    var stopped = 0
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
          event, arrival: arrival, partition: partition, count: batch.partitionCount, seen: seen)
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
        if judged.outcome == 1 { stopped += 1 }
        if judged.outcome != outcome {
          world.fail(
            "\(logID): offset \(offset) has outcome \(outcome), \(judged.outcome) was due at \(arrival): \(event.summary)"
          )
        }
      }
    }
    auditVerdicts(partition, due)
    let decided = world.clicks.tables.bySequence[partition]?.count ?? 0
    let complaint = world.clicks.tables.counts.complaint(rows: decided + stopped, partition: partition) { $0 }
    if let complaint { world.fail("\(logID): \(complaint)") }
  }

  /// Compares the rows with what the rule makes of all clicks, as if every view had come first.
  private func auditVerdicts(_ partition: Int32, _ due: [Due]) {
    let seenAt = world.impressions.tables.impressions.mapValues(\.accepted.eventTime.milliseconds)
    let fates = ClickFates(due, seenAt: seenAt)
    let clicks = Dictionary(due.map { ($0.idHash, $0) }) { first, _ in first }
    var decided = Set<UInt64>()
    for (index, row) in (world.clicks.tables.bySequence[partition] ?? []).enumerated() {
      let name = "click \(partition)/\(row.sequence)"
      let hash = row.accepted.idHash
      guard row.sequence == Int64(index + 1), let click = clicks[hash], let fate = fates.byClick[hash],
        decided.insert(hash).inserted
      else { return world.fail("\(name) stands at \(index + 1), or twice, or nobody made it") }
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

  /// What must become of an event, or, for a click that gets a verdict, its time.
  private func judge(
    _ event: DeviceEvent, arrival: Int64, partition: Int32, count: Int32, seen: Set<Identity>
  ) -> (outcome: UInt8, key: Identity?, clickTime: Int64?) {
    switch event.form {
    case .garbage(let reason): return (reason, nil, nil)
    case .forged: return (74, nil, nil)
    case .unknownKey: return (75, nil, nil)
    case .stolen: return (88, nil, nil)
    case .sound: break
    }
    guard let terms = event.terms, case .click(let kind, _, _) = event.content else { return (0, nil, nil) }
    if terms.partition != partition {
      return ((0..<count).contains(terms.partition) ? 3 : 80, nil, nil)
    }
    let time: Int64
    switch event.judgedTime(arrival: arrival, lastAfterIssue: Devices.tokenLife + 3_600_000) {
    case .rejected(let reason): return (reason, nil, nil)
    case .at(let found): time = found
    }
    let key = Identity(serveID: terms.serveID, kind: kind.rawValue, event: event.number)
    if seen.contains(key) { return (2, nil, nil) }
    if kind != .click { return (1, key, nil) }
    if Devices.isRefused(terms) { return (82, nil, nil) }
    return (0, key, time)
  }
}
