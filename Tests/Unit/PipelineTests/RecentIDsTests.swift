import AdCore
import TestValues
import Testing

@testable import Pipeline

@Suite("The table of recent ids")
struct RecentIDsTests {
  private static let start: Int64 = 1_768_478_400_000

  /// One that is alone in its process, and grows until it has room for so many ids, by doubling.
  private static func table(ids: Int = 1 << 20) -> RecentIDs {
    // 32 bytes an id, and as much again: while it grows the smaller table is there, too.
    RecentIDs(horizon: Timestamp(milliseconds: start), quota: SharedBound(64 * ids).quota())
  }

  private func id(_ milliseconds: Int64, _ number: UInt64) -> UUIDv7 {
    UUIDv7(
      timestamp: Timestamp(milliseconds: Self.start + milliseconds), randomHigh: number, randomLow: number &* 0x9E37)
  }

  @Test("M4: an id is new once, and new again after it was taken back")
  func once() {
    var table = Self.table()
    #expect(!table.contains(id(0, 1)))
    #expect(table.insert(id(0, 1)) == true)
    #expect(table.insert(id(0, 1)) == false)
    #expect(table.insert(id(0, 2)) == true)
    table.remove(id(0, 1))
    table.remove(id(0, 9))
    #expect(!table.contains(id(0, 1)))
    #expect(table.contains(id(0, 2)))
    #expect(table.count == 1)
    #expect(table.insert(id(0, 1)) == true)
  }

  /// Failures tell ids of a client's own.
  @Test("M4: ids that somebody chose to be alike are looked for in different places")
  func chosen() {
    var table = Self.table()
    let ids = (1...10_000 as ClosedRange<UInt64>).map { number in
      let high = id(Int64(number >> 8), number & 0xFF).high
      return UUIDv7(
        timestamp: Timestamp(milliseconds: Self.start + Int64(number >> 8)), randomHigh: number & 0xFF,
        randomLow: high & (1 << 62 - 1))
    }
    for id in ids where !table.insert(id) { Issue.record("\(id) is new") }
    #expect(Set(ids.map { $0.high ^ $0.low }).count == 1, "it would be seen")
    #expect(Set(ids.map { table.start(RecentIDs.Key($0, 0)) }).count > 5_000)
  }

  @Test("The table is complete for ids made at or after its horizon", arguments: [(-1, false), (0, true), (1, true)])
  func horizon(milliseconds: Int64, isComplete: Bool) {
    let table = Self.table()
    #expect(table.isComplete(for: id(milliseconds, 1)) == isComplete)
  }

  @Test("Whatever is put in and taken out, it answers as a set does", arguments: 1...8 as ClosedRange<UInt64>)
  func model(seed: UInt64) {
    var random = SeededChance(seed: seed)
    var table = Self.table(ids: 100_000)
    var model: Set<UUIDv7> = []
    // Few different ids, so that each is put in and taken out often; times enough for ids to lie close together.
    let range = Int64.random(in: 100...3_000, using: &random)
    var differences = 0
    for _ in 0..<20_000 {
      let number = Int64.random(in: 0..<range, using: &random)
      let id = id(number / 7, UInt64(number))
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1: if table.insert(id) != model.insert(id).inserted { differences += 1 }
      case 2, 3:
        table.remove(id)
        model.remove(id)
      default: break
      }
      if table.contains(id) != model.contains(id) || table.count != model.count { differences += 1 }
    }
    #expect(differences == 0)
    #expect((0..<range).allSatisfy { table.contains(id($0 / 7, UInt64($0))) == model.contains(id($0 / 7, UInt64($0))) })
    #expect(table.horizon == Timestamp(milliseconds: Self.start))
  }

  @Test("It grows without forgetting until its limit")
  func growth() {
    var table = Self.table(ids: 5_000)
    for number in 0..<4_000 as Range<Int64> { #expect(table.insert(id(number, UInt64(number))) == true) }
    #expect(table.count == 4_000)
    #expect((0..<4_000).allSatisfy { table.contains(id($0, UInt64($0))) })
    #expect(table.horizon == Timestamp(milliseconds: Self.start))
  }

  @Test("Full, it forgets the oldest and moves its horizon up, and above the horizon it stays complete")
  func full() {
    var random = SeededChance(seed: 17)
    var table = Self.table(ids: 64)
    var model: Set<UUIDv7> = []
    var largest = 0
    for number in 0..<20_000 as Range<Int64> {
      // Ids come nearly in the order of their making.
      let id = id(number - Int64.random(in: 0...20, using: &random), UInt64(number))
      #expect(table.insert(id) == true)
      model.insert(id)
      largest = max(largest, table.count)
      if number % 500 == 0 {
        #expect(model.allSatisfy { !table.isComplete(for: $0) || table.contains($0) })
      }
    }
    #expect(table.horizon > Timestamp(milliseconds: Self.start))
    #expect(largest <= 128)
    #expect(model.contains { table.isComplete(for: $0) })
    #expect(model.contains { !table.contains($0) })
  }

  @Test(
    "Ids of one moment beyond the limit are forgotten all together, and none of them counts as complete",
    arguments: [0, 1] as [Int64])
  func oneMoment(milliseconds: Int64) {
    var table = Self.table(ids: 64)
    for number in 0..<1_000 as Range<UInt64> { #expect(table.insert(id(milliseconds, number)) == true) }
    #expect(!table.isComplete(for: id(milliseconds, 1)))
    #expect(table.isComplete(for: id(milliseconds + 1, 1)))
    #expect(table.count < 1_000)
  }

  @Test("Full, it forgets half, however the times of its ids are spread")
  func spread() {
    var table = Self.table(ids: 1_000)
    var forgotten = 0
    for number in 0..<10_000 as Range<Int64> {
      let before = table.count
      // Every second id is older than all others: half of the time they span would be one of them.
      #expect(table.insert(id(number % 2 == 0 ? -1_000_000 - number : number, UInt64(number))) == true)
      if table.count < before {
        forgotten += 1
        #expect(table.count <= before / 2 + 1)
      }
    }
    #expect((10...25).contains(forgotten))
  }

  @Test("The same id under another label is another one, and its time is the same")
  func labels() {
    var table = Self.table(ids: 1_000)
    for label in 0..<64 as Range<UInt8> {
      #expect(!table.contains(id(5, 1), label: label))
      #expect(table.insert(id(5, 1), label: label) == true)
      #expect(table.insert(id(5, 1), label: label) == false)
    }
    #expect(table.count == 64)
    table.remove(id(5, 1), label: 7)
    #expect((0..<64 as Range<UInt8>).filter { !table.contains(id(5, 1), label: $0) } == [7])
    // Full, it forgets by time, whatever the label.
    for number in 0..<4_000 as Range<Int64> { _ = table.insert(id(10 + number, UInt64(number)), label: 63) }
    #expect((0..<64 as Range<UInt8>).allSatisfy { !table.contains(id(5, 1), label: $0) })
    #expect(table.contains(id(4_009, 3_999), label: 63))
  }

  @Test("The tables of a thousand partitions take no more together than one process may, and stay complete")
  func manyPartitions() {
    let bound = SharedBound(16 << 20)
    let partitions = 1_000
    var tables = (0..<partitions).map { _ in
      RecentIDs(horizon: Timestamp(milliseconds: Self.start), quota: bound.quota())
    }
    var last: [Int: UUIDv7] = [:]
    for number in 0..<400_000 as Range<Int64> {
      // Half of them in one partition: it does not take the others' part.
      let index = number % 2 == 0 ? 0 : Int(number / 2) % partitions
      let id = id(number, UInt64(number))
      #expect(tables[index].insert(id) == true)
      last[index] = id
    }
    let taken = tables.reduce(0) { $0 + $1.byteCount }
    #expect((bound.maximum / 4...bound.maximum).contains(bound.held))
    #expect(taken <= bound.maximum + partitions * RecentIDs.bytesMinimum)
    #expect(last.allSatisfy { tables[$0].contains($1) })
    tables = []
    #expect(bound.held == 0)
  }

  @Test("A table that was alone forgets what is more than its part once others come, and the others get theirs")
  func comers() {
    let bound = SharedBound(1 << 20)
    var first = RecentIDs(horizon: Timestamp(milliseconds: Self.start), quota: bound.quota())
    for number in 0..<20_000 as Range<Int64> { #expect(first.insert(id(number, UInt64(number))) == true) }
    #expect(first.byteCount > bound.maximum / 4)
    var others = (0..<3).map { _ in RecentIDs(horizon: Timestamp(milliseconds: Self.start), quota: bound.quota()) }
    first.keepToQuota()
    #expect(first.byteCount <= bound.maximum / 4)
    #expect(first.contains(id(19_999, 19_999)) && !first.contains(id(0, 0)) && !first.isComplete(for: id(0, 0)))
    for number in 0..<20_000 as Range<Int64> {
      for index in others.indices { _ = others[index].insert(id(number, UInt64(number))) }
    }
    // By doubling, and the old table counts until the new one is filled.
    #expect(others.allSatisfy { $0.byteCount >= bound.maximum / 16 && $0.byteCount <= bound.maximum / 4 })
  }
}
