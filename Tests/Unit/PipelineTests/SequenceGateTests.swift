import AdCore
import AdEvents
import TestValues
import Testing

@testable import Pipeline

private func moment(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

@Suite("Which records of an input with sequences are taken")
struct SequenceGateTests {
  private func gate(taken: Int64 = 5, watermark: Int64 = 1_000) -> SequenceGate {
    var position = InputPosition.start
    position.consumedSequence = taken
    position.consumedWatermark = moment(watermark)
    return SequenceGate(position)
  }

  @Test(
    "Not higher is a duplicate, the next is taken, one further on is ahead",
    arguments: [
      (-1, .duplicate, 5), (0, .duplicate, 5), (4, .duplicate, 5), (5, .duplicate, 5), (6, nil, 6), (7, .ahead, 5),
      (.max, .ahead, 5),
    ] as [(Int64, Outcome?, Int64)])
  func sequences(sequence: Int64, outcome: Outcome?, taken: Int64) {
    var gate = gate()
    #expect(gate.admit(.number(sequence)) == outcome)
    #expect(gate.consumedSequence == taken)
  }

  @Test("A record without a number passes and changes nothing")
  func unnumbered() {
    var gate = gate()
    #expect(gate.admit(.unnumbered) == nil)
    #expect(gate == self.gate())
  }

  @Test(
    "A watermark holds once its sequence is taken, and never goes back",
    arguments: [(2_000, 5, 2_000), (2_000, 4, 2_000), (900, 5, 1_000), (2_000, 6, 1_000)] as [(Int64, Int64, Int64)])
  func watermarks(time: Int64, sequence: Int64, taken: Int64) {
    var gate = gate()
    #expect(gate.admit(.watermark(Watermark(time: moment(time), sequence: sequence))) == .noted)
    #expect(gate.consumedWatermark == moment(taken))
    #expect(gate.consumedSequence == 5)
  }

  @Test(
    "A hole is told at once, by whatever shows it",
    arguments: [
      RecordSequence.number(7), .watermark(Watermark(time: Timestamp(milliseconds: 0), sequence: 6)),
    ])
  func holes(sequence: RecordSequence) {
    var gate = gate()
    #expect(gate.gapRequest(now: moment(0)) == nil)
    _ = gate.admit(sequence)
    #expect(gate.gapRequest(now: moment(0)) == 6)
  }

  @Test("A hole that stays is told less and less often, for each time everything behind it is published again")
  func seldom() {
    var gate = gate()
    _ = gate.admit(.number(9))
    let hour: Int64 = 3_600_000
    let told = stride(from: 0, to: 4 * hour, by: 1_000).filter { gate.gapRequest(now: moment($0)) != nil }
    #expect(told.prefix(5) == [0, 5_000, 15_000, 35_000, 75_000])
    #expect(told.count < 35)
    let longest = zip(told, told.dropFirst()).map { $1 - $0 }.max()
    #expect(longest == SequenceGate.requestIntervalMillisecondsMaximum)
  }

  @Test(
    "What the producing service says is lost is stepped over, from where it begins on",
    arguments: [(6, 9, 9), (3, 9, 9), (7, 9, 5), (6, 5, 5), (1, 4, 5), (6, .max, .max), (0, 9, 5)]
      as [(Int64, Int64, Int64)])
  func lost(first: Int64, last: Int64, taken: Int64) {
    var gate = gate()
    _ = gate.admit(.number(8))
    let mark = Watermark(time: moment(0), sequence: last, firstLostSequence: first)
    #expect(gate.admit(.watermark(mark)) == .noted)
    #expect(gate.consumedSequence == taken)
    #expect(gate.consumedWatermark == moment(1_000))
    #expect((gate.gapRequest(now: moment(0)) == nil) == (taken > 5))
    #expect(gate.admit(.number(.max)) != nil)
  }

  @Test("A hole that stays is told again after a while; one that is closed is not")
  func again() {
    let interval = SequenceGate.requestIntervalMilliseconds
    var gate = gate()
    _ = gate.admit(.number(9))
    #expect(gate.gapRequest(now: moment(10_000)) == 6)
    #expect(gate.gapRequest(now: moment(10_000 + interval - 1)) == nil)
    #expect(gate.gapRequest(now: moment(10_000 + interval)) == 6)
    #expect(gate.admit(.number(6)) == nil)
    #expect(gate.gapRequest(now: moment(90_000)) == nil)
    _ = gate.admit(.number(9))
    #expect(gate.gapRequest(now: moment(90_001)) == 7)
  }

  @Test("However records are repeated and mixed, each sequence is taken once and in order")
  func anyOrder() {
    var random = SeededChance(seed: 3)
    for _ in 0..<50 {
      var gate = SequenceGate(.start)
      var taken: [Int64] = []
      while gate.consumedSequence < 30 {
        let sequence = Int64.random(in: max(1, gate.consumedSequence - 2)...gate.consumedSequence + 3, using: &random)
        if gate.admit(.number(sequence)) == nil { taken.append(sequence) }
      }
      #expect(taken == Array(1...30))
    }
  }
}
