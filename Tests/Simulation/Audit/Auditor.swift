import AdCore
import AdEvents
import ClickTrackingCore
import Pipeline

/// Works out from what the devices did, and from what the broker holds, what the tables must hold; and compares. Its
/// rules are its own, written from the design, none of the services' code.
struct Auditor {
  let world: World

  func audit() {
    for fleet in world.fleets { auditOutcomes(fleet.books) }
    for anomaly in world.impressions.anomalies + world.clicks.anomalies + world.ledger.anomalies { world.fail(anomaly) }
    ImpressionAudit(world: world).audit()
    ClickAudit(world: world).audit()
    auditTaken()
  }

  /// I3: every offset of every input has exactly one recorded outcome; batches are dense and never overlap.
  private func auditOutcomes(_ books: any ServiceBooks) {
    for (partition, row) in books.partitions.sorted(by: { $0.key < $1.key }) {
      for (index, batch) in row.batches.enumerated() where batch.number != Int64(index + 1) {
        world.fail("\(books.name)[\(partition)]: batch \(batch.number) stands at place \(index + 1)")
        return
      }
      for (input, topic) in books.inputTopics.enumerated() {
        auditInput(row, input: input, place: LogPlace(topic: topic, partition: partition))
      }
    }
  }

  private func auditInput(_ row: PartitionRow, input: Int, place: LogPlace) {
    var next: [Int: Int64] = [:]
    for batch in row.batches {
      let incarnation = batch.incarnations[input]
      let log = Self.records(world.log[place], incarnation: incarnation)
      for range in batch.lost where range.input == input {
        if range.offsets.lowerBound != next[incarnation, default: 0] {
          world.fail("\(place): offsets \(range.offsets) are lost, but \(next[incarnation, default: 0]) was next")
        }
        next[incarnation] = range.offsets.upperBound
      }
      let first = batch.inputs[input].firstOffset
      let end = batch.inputs[input].position.nextOffset
      guard end > first else { continue }
      // The first batch of all begins where the log began then.
      if let expected = next[incarnation], expected != first {
        world.fail("\(place): batch \(batch.number) begins at \(first), \(expected) was next")
      }
      next[incarnation] = end
      let outcomes = Self.outcomes(of: batch, input: input)
      let offsets = Set(log.filter { $0.offset >= first && $0.offset < end }.map(\.offset))
      for (index, outcome) in outcomes.enumerated() where (outcome != 0) != offsets.contains(first + Int64(index)) {
        world.fail("\(place): offset \(first + Int64(index)) has outcome \(outcome)")
      }
    }
    let log = world.log[place]
    let read = next[log.incarnation] ?? log.firstOffset
    if read < (log.records.last?.offset ?? -1) + 1 { world.fail("\(place): read to \(read) of \(log.endOffset)") }
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

  /// Downstream has taken each sequence once, in order, and what it took is what the rows say.
  private func auditTaken() {
    for partition in 0..<world.plan.partitions {
      let entries = world.ledger.tables.entries[partition] ?? []
      let taken = entries.filter { $0.impression != nil }
      let produced = world.impressions.tables.bySequence[partition] ?? []
      if taken.map(\.sequence) != produced.map(\.sequence) {
        world.fail("[\(partition)]: taken \(taken.map(\.sequence)), produced \(produced.map(\.sequence))")
      }
      for (one, other) in zip(taken, produced) where one.impression != other.accepted {
        world.fail("[\(partition)]: sequence \(one.sequence) was taken as another impression")
      }
      let takenClicks = entries.filter { $0.click != nil }.map(\.sequence)
      let decided = world.clicks.tables.bySequence[partition] ?? []
      if takenClicks != decided.map(\.sequence) {
        world.fail("[\(partition)]: clicks taken \(takenClicks), decided \(decided.map(\.sequence))")
      }
      for click in decided { note(click.accepted.verdict, wasParked: click.wasParked) }
    }
  }
}

extension Auditor {
  private func note(_ verdict: ClickVerdict, wasParked: Bool) {
    if wasParked { world.coverage.note(.clickBeforeImpression) }
    switch verdict {
    case .limited: world.coverage.note(.clickLimited)
    case .repeat: world.coverage.note(.clickRepeated)
    case .noImpression: world.coverage.note(.clickWithoutImpression)
    default: break
    }
  }
}

extension World {
  /// What may appear in a topic at all: only what is committed.
  ///
  /// - Returns: its sequence, where it has one.
  @discardableResult
  func audit(_ message: OutgoingMessage, appendedTo place: LogPlace) -> Int64? {
    if place.topic == Topic.acceptedImpressions.name {
      let rows = impressions.tables.bySequence[place.partition] ?? []
      return audit(message, place, row: impressions.row(place.partition)) { sequence in
        rows.first { $0.sequence == sequence }?.accepted
      }
    }
    if place.topic == Topic.acceptedClicks.name {
      let rows = clicks.tables.bySequence[place.partition] ?? []
      return audit(message, place, row: clicks.row(place.partition)) { sequence in
        rows.first { $0.sequence == sequence }?.accepted
      }
    }
    return nil
  }

  private func audit<Content: SequencedContent>(
    _ message: OutgoingMessage, _ place: LogPlace, row: PartitionRow, stored: (Int64) -> Content?
  ) -> Int64? {
    var headers = RecordHeaders()
    for header in message.headers {
      header.name.withUnsafeBytes { name in header.value.withUnsafeBytes { headers.add(name: name, value: $0) } }
    }
    let decoded = (message.value ?? []).withUnsafeBytes { Sequenced<Content>.decode(value: $0, headers: headers) }
    switch decoded {
    case .success(.record(let sequence, let content)):
      guard let committed = stored(sequence) else {
        fail("\(place): sequence \(sequence) was published before it was committed")
        return nil
      }
      if committed != content { fail("\(place): sequence \(sequence) is not what its row says") }
      return sequence
    case .success(.watermark(let watermark)):
      if watermark.sequence >= row.outputs[0].nextSequence || watermark.time > row.watermark {
        fail("\(place): the watermark \(watermark) was published before it was committed")
      }
    case .failure(let rejection): fail("\(place): a message that does not decode: \(rejection)")
    }
    return nil
  }
}
