import AdCore
import AdEvents
import ImpressionTrackingCore
import Pipeline
import Records

/// What impression tracking must have made of what the devices did.
struct ImpressionAudit {
  let world: World

  /// Accepted once for each ad and kind of event (M4).
  private struct Seen: Hashable {
    var serveID: UUIDv7
    var kind: UInt8
  }

  private struct Accepted: Equatable {
    var sequence: Int64
    var terms: ServedTerms
    var eventTime: Int64
    var arrival: Int64
  }

  func audit() {
    for partition in 0..<world.partitionCount { audit(partition) }
  }

  private func audit(_ partition: Int32) {
    let logID = LogID(topic: Topic.impressions.name, partition: partition)
    let row = world.impressions.row(partition)
    let records = Auditor.Records(world.log[logID])
    var seen = Set<Seen>()
    var accepted: [Accepted] = []
    let published = LogID(topic: Topic.acceptedImpressions.name, partition: partition)
    var counted = 0
    var forwards = ForwardAudit()
    var rejected: [RejectedOffset: UInt8] = [:]
    for batch in row.batches {
      let incarnation = batch.incarnations[0]
      for (index, outcome) in Auditor.outcomes(of: batch, input: 0).enumerated() {
        let offset = batch.inputs[0].firstOffset + Int64(index)
        guard let record = records[incarnation, offset] else { continue }
        let arrival = arrival(of: record, in: batch, logID)
        guard let event = event(of: record) else {
          world.fail("\(logID): nobody knows the record at \(offset)")
          continue
        }
        var expected = expect(
          event, received: record.timestamp, arrival: arrival, partition: partition, count: batch.partitionCount,
          seen: seen)
        if expected.outcome == 3, let key = expected.key {
          expected.outcome = forwards.due(key.serveID, kind: key.kind, found: outcome, in: world)
        }
        if expected.outcome != outcome {
          world.fail(
            "\(logID): offset \(offset) has outcome \(outcome), \(expected.outcome) was due at \(arrival): \(event.summary)"
          )
        }
        if expected.outcome >= 64 {
          rejected[RejectedOffset(incarnation: incarnation, offset: offset)] = expected.outcome
        }
        world.noteTiming(expected.outcome)
        if expected.outcome == 3 { auditForwarded(record, of: event, from: logID) }
        guard expected.outcome == 1 || expected.outcome == 8, let key = expected.key else { continue }
        seen.insert(key)
        counted += 1
        if expected.outcome == 8 {
          world.coverage.note(.impossibleView)
          continue
        }
        if case .impression(.viewed, _) = event.content, let terms = event.terms {
          accepted.append(
            Accepted(
              sequence: world.timelines.next(accepted.last?.sequence ?? 0, in: published), terms: terms,
              eventTime: expected.time, arrival: arrival))
        }
      }
    }
    compare(accepted, partition)
    compareRejected(rejected, row, logID)
    let complaint = world.impressions.tables.counts.complaint(rows: counted, partition: partition) { $0 }
    if let complaint { world.fail("\(logID): \(complaint)") }
  }

  /// A record never counts as earlier than what was said to be decided. Of a log that was made again and filled up to our
  /// position before anybody saw that it is another one, that was said too early.
  private func arrival(of record: LogRecord, in batch: BatchRow, _ logID: LogID) -> Int64 {
    let arrival = max(record.timestamp, batch.watermarkBefore.milliseconds)
    if world.plan.timestampRegression == 0, world.log[logID].incarnation == 0, arrival != record.timestamp {
      world.fail("\(logID): offset \(record.offset) arrived before the watermark \(batch.watermarkBefore)")
    }
    return arrival
  }

  private func compare(_ accepted: [Accepted], _ partition: Int32) {
    let stored = (world.impressions.tables.bySequence[partition] ?? []).map {
      Accepted(
        sequence: $0.sequence, terms: $0.accepted.terms, eventTime: $0.accepted.eventTime.milliseconds,
        arrival: $0.accepted.arrival.milliseconds)
    }
    if stored != accepted {
      world.fail("[\(partition)]: impressions \(stored.map(\.sequence)) are stored, not \(accepted.map(\.sequence))")
    }
  }

  private struct RejectedOffset: Hashable {
    var incarnation: Int
    var offset: Int64
  }

  private func compareRejected(_ expected: [RejectedOffset: UInt8], _ row: PartitionRow, _ logID: LogID) {
    var stored: [RejectedOffset: UInt8] = [:]
    for entry in row.rejected {
      let logID = RejectedOffset(incarnation: entry.incarnation, offset: entry.row.offset)
      if stored.updateValue(entry.row.reason, forKey: logID) != nil {
        world.fail("\(logID): offset \(entry.row.offset) of \(logID) is rejected twice")
      }
    }
    if stored != expected { world.fail("\(logID): rejected are \(stored), not \(expected)") }
    let told = LogID(topic: Topic.rejected.name, partition: logID.partition)
    let ids = Set(world.log[told].records.compactMap { Self.id(of: $0.message) })
    for rejected in expected.keys where !ids.contains("\(logID.topic)/\(logID.partition)/\(rejected.offset)") {
      world.fail("\(logID): nobody was told that offset \(rejected.offset) was rejected")
    }
  }

  private static func id(of message: OutgoingMessage) -> String? {
    let name = Array("ce_id".utf8)
    return message.headers.first { $0.name == name }.map(\.text)
  }

  private func event(of record: LogRecord) -> DeviceEvent? {
    (record.event ?? Devices.event(of: record.message)).map { world.devices.events[$0] }
  }

  private func auditForwarded(_ record: LogRecord, of event: DeviceEvent, from logID: LogID) {
    guard let terms = event.terms else { return }
    let target = LogID(topic: logID.topic, partition: terms.partition)
    let arrived = Auditor.allRecords(world.log[target]).contains {
      $0.event == nil && $0.message.value == record.message.value && $0.message.headers == record.message.headers
    }
    if !arrived { world.fail("\(logID): offset \(record.offset) was not forwarded to \(target)") }
  }

  /// What must become of an event that lies in `partition` since `arrival`.
  private func expect(
    _ event: DeviceEvent, received: Int64, arrival: Int64, partition: Int32, count: Int32, seen: Set<Seen>
  ) -> (outcome: UInt8, time: Int64, key: Seen?) {
    if event.isKeyGone(arrival: received) {
      world.coverage.note(.tokenOfOldKey)
      return (75, 0, nil)
    }
    switch event.form {
    case .garbage(let reason): return (reason, 0, nil)
    case .forged: return (74, 0, nil)
    case .unknownKey: return (75, 0, nil)
    case .stolen: return (88, 0, nil)
    case .sound: break
    }
    if case .failure(let id, let error, let key) = event.content {
      if abs(arrival - id.timestamp.milliseconds) > 26 * 3_600_000 { return (70, 0, nil) }
      // A1: it counts only with its app's key.
      if key == .unknown {
        world.coverage.note(.failureWithoutKey)
        return (86, 0, nil)
      }
      let key = Seen(serveID: id, kind: 100 + error.rawValue)
      return (seen.contains(key) ? 2 : 1, arrival, key)
    }
    guard let terms = event.terms, case .impression(let kind, _) = event.content else { return (0, 0, nil) }
    // B8: seen sooner after the answer than it can have been, whatever else is told of that ad.
    let isImpossible = kind == .viewed && event.age.map { $0 < Devices.viewTime } ?? false
    let key = Seen(serveID: terms.serveID, kind: isImpossible ? 5 : kind.rawValue)
    if terms.partition != partition {
      return ((0..<count).contains(terms.partition) ? 3 : 80, 0, key)
    }
    let time: Int64
    switch event.judgedTime(arrival: arrival, lastAfterIssue: Devices.tokenLife) {
    case .rejected(let reason): return (reason, 0, nil)
    case .at(let found): time = found
    }
    if seen.contains(key) { return (2, 0, nil) }
    if kind == .viewed, !isImpossible, Devices.isRefused(terms) { return (82, 0, nil) }
    return (isImpossible ? 8 : 1, time, key)
  }
}

/// When an event happened, or the number of the reason why its time is not accepted.
enum JudgedTime {
  case at(Int64)
  case rejected(UInt8)
}

extension DeviceEvent {
  /// Whether its token was issued under a key that opens nothing any more; whatever else is wrong with it, nobody sees it.
  func isKeyGone(arrival: Int64) -> Bool {
    guard let terms, form != .unknownKey else { return false }
    return Fixture.isKeyGone(issued: terms.issuedAt, arrival: arrival)
  }

  /// - Parameter lastAfterIssue: how long after the ad was issued such an event may still happen.
  func judgedTime(arrival: Int64, lastAfterIssue: Int64) -> JudgedTime {
    let hour: Int64 = 3_600_000
    let issued = terms?.issuedAt.milliseconds ?? 0
    if issued < arrival - 26 * hour || issued > arrival + 5_000 { return .rejected(77) }
    var time = arrival
    if let age {
      time = issued + age
    } else if let claimedTime {
      time = min(max(claimedTime, issued), max(issued, arrival))
    }
    time = max(time, issued)
    if time > issued + lastAfterIssue { return .rejected(76) }
    if time > arrival + 5_000 { return .rejected(78) }
    if time < arrival - 24 * hour { return .rejected(79) }
    return .at(time)
  }
}
