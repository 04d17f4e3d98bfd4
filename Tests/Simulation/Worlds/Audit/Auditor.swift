import AdCore
import AdEvents
import AdSelectionCore
import BillingCore
import ClickTrackingCore
import Pipeline
import TestValues

/// Works out from what the devices did, and from what the broker holds, what the tables must hold; and compares. Its
/// rules are its own, written from the design, none of the services' code.
struct Auditor {
  let world: World

  func audit() {
    for fleet in world.fleets {
      auditOutcomes(fleet.books)
      for anomaly in fleet.books.anomalies { world.fail(anomaly) }
    }
    ImpressionAudit(world: world).audit()
    ClickAudit(world: world).audit()
    SelectionAudit(world: world).audit()
    AuctionAudit(world: world).audit()
    MoneyAudit(world: world).audit()
    auditServes()
    if world.plan.isReplayed, world.failures.isEmpty {
      if world.timelineCount > 1 { world.coverage.note(.replayedAfterRestore) }
      ReplayAudit(world: world).audit()
    }
  }

  /// I3: every offset of every input has exactly one recorded outcome; batches are dense and never overlap.
  private func auditOutcomes(_ books: any ServiceBooks) {
    for (partition, row) in books.partitions.sorted(by: { $0.key < $1.key }) {
      for (index, batch) in row.batches.enumerated() where batch.number != Int64(index + 1) {
        world.fail("\(books.name)[\(partition)]: batch \(batch.number) stands as number \(index + 1)")
        return
      }
      for (input, topic) in books.inputTopics.enumerated() {
        auditInput(row, input: input, logID: LogID(topic: topic, partition: partition))
      }
    }
  }

  private func auditInput(_ row: PartitionRow, input: Int, logID: LogID) {
    var next: [Int: Int64] = [:]
    for batch in row.batches {
      let incarnation = batch.incarnations[input]
      let log = Self.records(world.log[logID], incarnation: incarnation)
      for range in batch.lost where range.input == input {
        // A position whose last record retention removed may stem from the log before, and nobody can tell.
        if let expected = next[incarnation], range.offsets.lowerBound != expected {
          world.fail("\(logID): offsets \(range.offsets) are lost, but \(expected) was next")
        }
        next[incarnation] = range.offsets.upperBound
      }
      let first = batch.inputs[input].firstOffset
      let end = batch.inputs[input].position.nextOffset
      guard end > first else { continue }
      // The first batch of all begins where the log began then.
      if let expected = next[incarnation], expected != first {
        world.fail("\(logID): batch \(batch.number) begins at \(first), \(expected) was next")
      }
      next[incarnation] = end
      let outcomes = Self.outcomes(of: batch, input: input)
      let offsets = Set(log.filter { $0.offset >= first && $0.offset < end }.map(\.offset))
      for (index, outcome) in outcomes.enumerated() where (outcome != 0) != offsets.contains(first + Int64(index)) {
        world.fail("\(logID): offset \(first + Int64(index)) has outcome \(outcome)")
      }
    }
    let log = world.log[logID]
    // It was cut and filled up to the position: the next record that comes will tell.
    if let kept = log.keptUntil[row.incarnations[input]], row.inputs[input].nextOffset == log.endOffset,
      row.inputs[input].last?.offset ?? -1 >= kept
    {
      return
    }
    // A position behind records that retention removed rests on none: in a log that was made anew meanwhile nobody can
    // tell that what lies before it is not what was lost.
    let position = row.inputs[input]
    // Nor has anything been read of a log that was cut behind the position.
    let incarnation = row.incarnations[input]
    let restsOnCut =
      incarnation == log.incarnation && !log.keptUntil.isEmpty
      || position.last?.offset ?? .max < log.keptUntil[incarnation] ?? 0
    let read = next[log.incarnation] ?? (position.last == nil || restsOnCut ? position.nextOffset : log.firstOffset)
    if read < (log.records.last?.offset ?? -1) + 1 { world.fail("\(logID): read to \(read) of \(log.endOffset)") }
  }

  static func records(_ log: PartitionLog, incarnation: Int) -> [LogRecord] {
    incarnation == log.incarnation ? log.records : log.past[incarnation].records
  }

  /// The bytes of one input's offsets in a batch.
  static func outcomes(of batch: BatchRow, input: Int) -> ArraySlice<UInt8>.SubSequence {
    var start = 0
    for other in 0..<input {
      start += Int(batch.inputs[other].position.nextOffset - batch.inputs[other].firstOffset)
    }
    let count = Int(batch.inputs[input].position.nextOffset - batch.inputs[input].firstOffset)
    return ArraySlice(batch.outcomes[start..<start + count])
  }

  /// I7: whatever was accepted of an ad that was served here says what its decision says, and nothing else was served.
  private func auditServes() {
    for (id, row) in world.impressions.tables.impressions {
      guard let decided = world.selection.tables.served[id], let serve = decided.serve else { continue }
      if serve.terms != row.accepted.terms { world.fail("impression \(id) has other terms than its decision") }
    }
    for click in world.clicks.tables.clicks.values {
      note(click.verdict)
      guard let serve = world.selection.tables.served[click.terms.serveID]?.serve else { continue }
      if serve.terms != click.terms {
        world.fail("a click of \(click.terms.serveID) has other terms than its decision")
      }
    }
    for clicks in world.clicks.tables.bySequence.values {
      world.coverage.note(.clickBeforeImpression, clicks.count(where: \.wasParked))
      world.coverage.note(.clickBeyondDay, clicks.count { !$0.isJudged && $0.accepted.verdict == .limited })
    }
    world.coverage.note(.clickWaitedForEarlier, world.clicks.tables.waitedForEarlier)
  }

  private func note(_ verdict: ClickVerdict) {
    switch verdict {
    case .limited: world.coverage.note(.clickLimited)
    case .repeat: world.coverage.note(.clickRepeated)
    case .noImpression: world.coverage.note(.clickWithoutImpression)
    case .impossible: world.coverage.note(.impossibleClick)
    default: break
    }
  }
}

extension Auditor {
  /// The records of a log by incarnation and offset.
  struct Records {
    private let incarnations: [[Int64: LogRecord]]

    init(_ log: PartitionLog) {
      incarnations = (log.past.map(\.records) + [log.records]).map { records in
        Dictionary(uniqueKeysWithValues: records.map { ($0.offset, $0) })
      }
    }

    subscript(incarnation: Int, offset: Int64) -> LogRecord? { incarnations[incarnation][offset] }
  }

  /// Everything that ever was in a log.
  static func allRecords(_ log: PartitionLog) -> [LogRecord] { log.past.flatMap(\.records) + log.records }
}

extension World {
  /// Late, early and expired events are counted by what became of them.
  func noteTiming(_ outcome: UInt8) {
    switch outcome {
    case 76: coverage.note(.expiredEvent)
    case 77, 79: coverage.note(.lateEvent)
    case 78: coverage.note(.earlyEvent)
    default: break
    }
  }

  /// What may appear in a topic at all: only what is committed.
  ///
  /// - Returns: its sequences, where it has any.
  @discardableResult
  func audit(_ message: OutgoingMessage, appendedTo logID: LogID) -> ClosedRange<Int64>? {
    let partition = logID.partition
    switch logID.topic {
    case Topic.acceptedImpressions.name:
      let rows = impressions.tables.bySequence[partition] ?? []
      return audit(message, logID, row: impressions.row(partition)) { sequence in
        rows.first { $0.sequence == sequence }?.accepted
      }
    case Topic.acceptedClicks.name:
      let rows = clicks.tables.bySequence[partition] ?? []
      return audit(message, logID, row: clicks.row(partition)) { sequence in
        rows.first { $0.sequence == sequence }?.accepted
      }
    case Topic.budgets.name:
      return auditBudget(message, logID)
    case Topic.usage.name: return auditUsage(message, logID)
    default:
      if Samples.answerTopics.contains(logID.topic) { auditAnswer(message, logID) }
      return nil
    }
  }

  private func auditBudget(_ message: OutgoingMessage, _ logID: LogID) -> ClosedRange<Int64>? {
    let row = billing.row(logID.partition)
    let decoded = (message.value ?? []).withUnsafeBytes {
      BudgetRecord.decode(value: $0, headers: Self.headers(of: message))
    }
    switch decoded {
    case .success(.grant(let sequence, let grant)):
      return audit(sequence, grant, logID) {
        let id = UInt64(logID.partition) << 40 | UInt64(sequence)
        return billing.tables.budgets.allotments[id].map { row in
          AllotmentGrant(
            allotment: id, ordinal: row.ordinal, campaign: row.budget.campaign, budgetDay: row.budget.day,
            amount: Nanos(row.granted), serveUntil: row.serveUntil, clickRates: row.clickRates)
        }
      }
    case .success(.watermark(let watermark)): audit(watermark, logID, row: row)
    case .success(.refusal): break
    case .failure(let rejection): fail("\(logID): a message that does not decode: \(rejection)")
    }
    return nil
  }

  private func auditUsage(_ message: OutgoingMessage, _ logID: LogID) -> ClosedRange<Int64>? {
    let decoded = (message.value ?? []).withUnsafeBytes {
      UsageRecord.decode(value: $0, headers: Self.headers(of: message))
    }
    guard case .success(let usage) = decoded else {
      fail("\(logID): a message that does not decode")
      return nil
    }
    if case .watermark(let watermark) = usage,
      watermark.sequence >= selection.row(logID.partition).outputs[0].nextSequence
    {
      fail("\(logID): the watermark \(watermark) was published before it was committed")
    }
    guard case .report(let sequence, let report) = usage else { return nil }
    let row = selection.tables.allotments[report.allotment]
    if row?.reportSequence != sequence || row?.row.used != report.used || row?.row.usedForClicks != report.usedForClicks
      || row?.row.closedAt != report.closedAt
    {
      fail("\(logID): report \(sequence) is not what the row of allotment \(report.allotment) says")
    }
    return sequence...sequence
  }

  /// A token that is in the world has its decision row.
  private func auditAnswer(_ message: OutgoingMessage, _ logID: LogID) {
    guard case .success = Devices.response(in: message) else {
      return fail("\(logID): an answer that does not decode")
    }
    guard let terms = devices.token(in: message) else { return }
    if selection.tables.served[terms.serveID]?.serve?.terms != terms {
      fail("\(logID): the answer with \(terms.serveID) has no decision, or another")
    }
  }

  private static func headers(of message: OutgoingMessage) -> RecordHeaders {
    var headers = RecordHeaders()
    for header in message.headers {
      headers.add(header)
    }
    return headers
  }

  private func audit<Content: SequencedContent>(
    _ message: OutgoingMessage, _ logID: LogID, row: PartitionRow, stored: (Int64) -> Content?
  ) -> ClosedRange<Int64>? {
    let decoded = (message.value ?? []).withUnsafeBytes {
      Sequenced<Content>.decode(value: $0, headers: Self.headers(of: message))
    }
    switch decoded {
    case .success(.run(let run)):
      if run.events.count > 1 { coverage.note(.runOfMany) }
      for (sequence, content) in zip(run.sequences, run.events) { audit(sequence, content, logID) { stored(sequence) } }
      return run.sequences
    case .success(.watermark(let watermark)): audit(watermark, logID, row: row)
    case .failure(let rejection): fail("\(logID): a message that does not decode: \(rejection)")
    }
    return nil
  }

  @discardableResult
  private func audit<Content: Hashable>(
    _ sequence: Int64, _ content: Content, _ logID: LogID, stored: () -> Content?
  ) -> ClosedRange<Int64>? {
    guard let committed = stored() else {
      fail("\(logID): sequence \(sequence) was published before it was committed")
      return nil
    }
    if committed != content { fail("\(logID): sequence \(sequence) is not what its row says") }
    return sequence...sequence
  }

  private func audit(_ watermark: Watermark, _ logID: LogID, row: PartitionRow) {
    if watermark.firstLostSequence > 0 {
      coverage.note(.lostTold)
      // Nobody need ever see what everybody has consumed.
      highestSequences[logID] = max(highestSequences[logID] ?? 0, watermark.sequence)
    }
    if watermark.sequence >= row.outputs[0].nextSequence || watermark.time > row.watermark {
      fail("\(logID): the watermark \(watermark) was published before it was committed")
    }
  }
}
