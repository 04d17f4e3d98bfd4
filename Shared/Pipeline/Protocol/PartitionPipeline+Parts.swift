/// Batches of which only a part is decided at once.
extension PartitionPipeline {
  /// Over so many offsets the batches of a transaction move their inputs: each is a byte in a row, also where no record is.
  /// Holes have no limit of their own: transactions and compaction leave as many as somebody likes.
  static var offsetsMaximum: Int64 { 65_536 }

  /// Records that are decided together, and up to which offsets nothing follows them; nil: their input ends with them.
  struct Part {
    let records: ArraySlice<InputRecord<Service.Event>>
    let end: [Int64?]
    /// Over so many it moves the inputs.
    let offsetCount: Int64
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
      for (input, last) in batch.nextOffsets.enumerated() {
        guard let last else { continue }
        let target = min(last, reached[input] + room)
        end[input] = target
        move(input, to: target)
      }
    } else if count == 0 {
      let input = batch.heads[rest.startIndex].input
      let target = reached[input] + room
      end[input] = target
      move(input, to: target)
    }
    return Part(records: rest.prefix(count), end: end, offsetCount: Self.offsetsMaximum - room)
  }

  /// Over how many offsets a batch moves the inputs that is one part; nil where it is more.
  func offsetCount(ofWhole batch: InputBatch<Service.Event>) -> Int64? {
    let part = nextPart(batch.records[...], of: batch)
    return part.records.count == batch.records.count && part.end == batch.nextOffsets ? part.offsetCount : nil
  }

  /// How many of these records one batch decides, at least 1.
  private func countTogether(_ records: ArraySlice<InputRecord<Service.Event>>) -> Int {
    max(1, decider?.countTogether(records) ?? records.count)
  }
}
