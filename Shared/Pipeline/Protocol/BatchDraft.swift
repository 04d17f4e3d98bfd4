internal import AdCore
internal import AdEvents

/// What stands before the service decides: which records of a batch it gets, and where each input then stands.
struct BatchDraft<Event: Sendable> {
  let heads: ArraySlice<RecordHead>
  private(set) var positions: [InputPosition]
  var gates: [SequenceGate]
  private(set) var lastArrivals: [Timestamp?]
  private(set) var arrivals: ClosedRange<Timestamp>?
  /// The records that the service decides.
  private(set) var admitted: [InputRecord<Event>] = []
  /// Index in ``heads`` of each admitted record; nil when all are admitted.
  private var admittedIndices: [Int]?
  /// One for each record.
  private(set) var outcomes: [Outcome]
  /// Of each of the batch's marks.
  private let standings: [TimelineStanding]

  /// Before the first record: everything is as the last batch left it.
  init(
    heads: ArraySlice<RecordHead>, positions: [InputPosition], gates: [SequenceGate], lastArrivals: [Timestamp?],
    standings: [TimelineStanding]
  ) {
    self.heads = heads
    self.standings = standings
    self.positions = positions
    self.gates = gates
    self.lastArrivals = lastArrivals
    outcomes = Array(repeating: .absent, count: heads.count)
  }

  /// Its input stands behind this record; before it where more of the record's events are to come: should they come in
  /// another batch, then those of this one are known already by their sequences.
  mutating func pass(_ head: RecordHead, arrival: Timestamp) {
    lastArrivals[head.input] = arrival
    arrivals = arrivals.map { min($0.lowerBound, arrival)...max($0.upperBound, arrival) } ?? arrival...arrival
    positions[head.input].nextOffset = head.identity.offset + (head.endsRecord ? 1 : 0)
    if head.endsRecord { positions[head.input].last = head.identity }
  }

  /// Lets the records through that are no duplicates and leave no gap: all of them where nothing has a sequence.
  mutating func admit(_ records: ArraySlice<InputRecord<Event>>, areSequenced: Bool) {
    guard areSequenced else {
      admitted = Array(records)
      return
    }
    var indices: [Int] = []
    for (index, head) in heads.enumerated() {
      if isBeyondEnd(head) {
        outcomes[index] = .lost
      } else if let outcome = gates[head.input].admit(head.sequence) {
        outcomes[index] = outcome
      } else {
        indices.append(index)
      }
    }
    for input in positions.indices {
      positions[input].consumedSequence = gates[input].consumedSequence
      positions[input].consumedWatermark = gates[input].consumedWatermark
    }
    if indices.count == records.count {
      admitted = Array(records)
    } else {
      admitted = indices.map { records[records.startIndex + $0] }
      admittedIndices = indices
    }
  }

  /// Whether it was written in a timeline that had ended by then; or tells, in one that has ended since, of sequences that were
  /// gone: a database that went back may have them again, and whoever writes from it tells anew of what it lacks.
  private func isBeyondEnd(_ head: RecordHead) -> Bool {
    guard head.mark > 0 else { return false }
    let standing = standings[Int(head.mark) - 1]
    func isBeyond(_ sequence: Int64) -> Bool { standing.end.map { sequence >= $0 } ?? false }
    return switch head.sequence {
    case .unnumbered: false
    case .number(let sequence): isBeyond(sequence)
    case .watermark(let watermark):
      isBeyond(watermark.sequence) || !standing.isCurrent && watermark.firstLostSequence > 0
    }
  }

  /// Up to these offsets there are no more records of the batch; nil where nothing was read.
  mutating func skip(to nextOffsets: [Int64?]) {
    for (input, next) in nextOffsets.enumerated() {
      if let next { positions[input].nextOffset = max(next, positions[input].nextOffset) }
    }
  }

  /// What became of each admitted record.
  mutating func decided(_ decided: [Outcome]) {
    guard let admittedIndices else {
      outcomes = decided
      return
    }
    for (index, outcome) in zip(admittedIndices, decided) { outcomes[index] = outcome }
  }

  /// One byte for each offset from where the inputs stood, input after input; offsets that no record had stay absent. A
  /// record of which more is to come has its byte in the batch that ends it.
  func outcomeBytes(from inputs: [InputPosition]) -> [UInt8] {
    var starts: [Int] = []
    var total = 0
    for input in inputs.indices {
      starts.append(total)
      total += Int(positions[input].nextOffset - inputs[input].nextOffset)
    }
    var bytes = [UInt8](repeating: Outcome.absent.rawValue, count: total)
    for (index, head) in heads.enumerated() where head.identity.offset < positions[head.input].nextOffset {
      let byte = starts[head.input] + Int(head.identity.offset - inputs[head.input].nextOffset)
      bytes[byte] = Outcome(rawValue: bytes[byte]).joined(with: outcomes[index]).rawValue
    }
    return bytes
  }
}
