/// Batches of which only a part is decided at once.
extension PartitionPipeline {
  /// Over so many offsets a batch moves its inputs: each is a byte in its row, also where no record is. Holes have no
  /// limit of their own: transactions and compaction leave as many as somebody likes.
  static var offsetsMaximum: Int64 { 65_536 }

  /// Records that are decided together, and up to which offsets nothing follows them; nil: their input ends with them.
  struct Part {
    let records: ArraySlice<InputRecord<Service.Event>>
    let end: [Int64?]
  }

  /// The first part of what is left of a batch. Without records where the next one lies too far away: then the input
  /// comes as near to it as one batch goes.
  func nextPart(_ rest: ArraySlice<InputRecord<Service.Event>>, of batch: InputBatch<Service.Event>) -> Part {
    var room = Self.offsetsMaximum
    var reached = inputs.map(\.nextOffset)
    func move(_ input: Int, to offset: Int64) {
      room -= max(0, offset - reached[input])
      reached[input] = max(offset, reached[input])
    }
    var count = 0
    for head in batch.heads[rest.indices].prefix(countTogether(rest)) {
      let next = head.identity.offset + 1
      guard next - reached[head.input] <= room else { break }
      move(head.input, to: next)
      count += 1
    }
    var end = batch.nowhere
    if count == rest.count {
      for input in end.indices {
        guard let last = batch.nextOffsets[input] else { continue }
        end[input] = min(last, reached[input] + room)
        move(input, to: end[input] ?? last)
      }
    } else if count == 0 {
      let input = batch.heads[rest.startIndex].input
      end[input] = reached[input] + room
    }
    return Part(records: rest.prefix(count), end: end)
  }

  /// Whether a batch is one part.
  func isDecidedWhole(_ batch: InputBatch<Service.Event>) -> Bool {
    let part = nextPart(batch.records[...], of: batch)
    return part.records.count == batch.records.count && part.end == batch.nextOffsets
  }

  /// How many of these records one batch decides, at least 1.
  private func countTogether(_ records: ArraySlice<InputRecord<Service.Event>>) -> Int {
    max(1, decider?.countTogether(records) ?? records.count)
  }
}
