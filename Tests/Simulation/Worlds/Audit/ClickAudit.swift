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
  private struct Due {
    /// Which click of its ad, from 1, in the order of offsets, without duplicates.
    var ordinal: Int
    var outcome: UInt8
    var terms: ServedTerms
    var time: Int64
    var arrival: Int64
    var isAccidental: Bool
  }

  func audit() {
    for partition in 0..<world.partitionCount { audit(partition) }
    if world.plan.waitsForEnds, let serve = world.clicks.tables.parked.keys.first {
      world.fail("clicks of \(serve) still wait although no impression can come any more")
    }
  }

  private func audit(_ partition: Int32) {
    let place = LogPlace(topic: Topic.clicks.name, partition: partition)
    let row = world.clicks.row(partition)
    let records = Auditor.Records(world.log[place])
    var seen = Set<Identity>()
    var clicksOfServe: [UUIDv7: Int] = [:]
    var due: [UInt64: Due] = [:]
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
        let judged = judge(
          event, arrival: arrival, partition: partition, count: batch.partitionCount, seen: seen)
        world.noteTiming(judged.outcome)
        if let key = judged.key { seen.insert(key) }
        if let time = judged.clickTime, let terms = event.terms, case .click(_, let lasted, let left) = event.content {
          let ordinal = clicksOfServe[terms.serveID, default: 0] + 1
          clicksOfServe[terms.serveID] = ordinal
          due[Devices.idHash(of: number)] = Due(
            ordinal: ordinal, outcome: outcome, terms: terms, time: time, arrival: arrival,
            isAccidental: lasted < 2_000 && !left)
          continue
        }
        if judged.outcome != outcome {
          world.fail(
            "\(place): offset \(offset) has outcome \(outcome), \(judged.outcome) was due at \(arrival): \(event.summary)"
          )
        }
      }
    }
    auditVerdicts(partition, due)
  }

  /// Goes through the rows in the order of their sequences.
  private func auditVerdicts(_ partition: Int32, _ due: [UInt64: Due]) {
    var billable = Set<UUIDv7>()
    var counted: [UInt64: [Int64]] = [:]
    var lastOrdinal: [UUIDv7: Int] = [:]
    var decided = Set<UInt64>()
    for (index, row) in (world.clicks.tables.bySequence[partition] ?? []).enumerated() {
      let name = "click \(partition)/\(row.sequence)"
      guard row.sequence == Int64(index + 1), let click = due[row.accepted.idHash],
        decided.insert(row.accepted.idHash).inserted
      else { return world.fail("\(name) stands at \(index + 1), or twice, or nobody made it") }
      let serve = click.terms.serveID
      if row.accepted.terms != click.terms || row.accepted.eventTime.milliseconds != click.time
        || row.accepted.arrival.milliseconds != click.arrival
      {
        world.fail("\(name) is not the click that was made")
      }
      let verdict = verdict(click, isBillable: billable.contains(serve), counted: counted[click.terms.clientHash] ?? [])
      if row.accepted.verdict.rawValue != verdict {
        world.fail("\(name) has the verdict \(row.accepted.verdict), \(verdict) was due")
      }
      let direct: UInt8 = verdict == 1 ? 1 : 16 + verdict
      if click.outcome != (row.wasParked ? 4 : direct) { world.fail("\(name) has the outcome \(click.outcome)") }
      if click.ordinal <= 4 {
        if click.ordinal < lastOrdinal[serve, default: 0] { world.fail("\(name) was decided out of order") }
        lastOrdinal[serve] = click.ordinal
      }
      guard verdict == 1 else { continue }
      billable.insert(serve)
      counted[click.terms.clientHash, default: []].append(click.time)
    }
    for (hash, click) in due where !decided.contains(hash) {
      let isWaiting = world.clicks.tables.parked[click.terms.serveID]?.contains { $0.idHash == hash } ?? false
      if !isWaiting || click.outcome != 4 { world.fail("a click of \(click.terms.serveID) has no fate") }
    }
  }

  private func verdict(_ click: Due, isBillable: Bool, counted: [Int64]) -> UInt8 {
    if click.ordinal > 4 { return 2 }
    guard let shown = world.impressions.tables.impressions[click.terms.serveID] else { return 7 }
    let delay = click.time - shown.accepted.eventTime.milliseconds
    if delay < -Devices.viewTime { return 8 }
    if click.isAccidental { return 3 }
    if delay < 100 { return 4 }
    if delay > 3_600_000 { return 5 }
    if isBillable { return 2 }
    let minute: Int64 = 60_000
    let limits: [(Int, Int64)] = [(1, minute), (3, 10 * minute), (10, 60 * minute), (25, 1_440 * minute)]
    let times = counted + [click.time]
    let isOverLimit = limits.contains { most, length in
      times.contains { start in times.count { $0 >= start && $0 < start + length } > most }
    }
    return isOverLimit ? 6 : 1
  }

  /// What must become of an event, or, for a click that gets a verdict, its time.
  private func judge(
    _ event: DeviceEvent, arrival: Int64, partition: Int32, count: Int32, seen: Set<Identity>
  ) -> (outcome: UInt8, key: Identity?, clickTime: Int64?) {
    switch event.form {
    case .garbage(let reason): return (reason, nil, nil)
    case .forged: return (74, nil, nil)
    case .unknownKey: return (75, nil, nil)
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
