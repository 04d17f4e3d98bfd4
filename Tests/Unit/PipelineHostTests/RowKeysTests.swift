import AdCore
import Postgres
import Testing

@testable import PipelineHost

/// Which rows of a batch are found between two ids, and which by their own keys.
@Suite("Keys of a batch's rows")
struct RowKeysTests {
  private static let arrival: Int64 = 1_900_000_000_000
  private static let twoMinutes: Int64 = 120_000

  /// Of an ad that was served so many milliseconds before the arrival.
  private static func id(_ before: Int64, _ low: UInt64 = 0) -> PostgresUUID {
    PostgresUUID(high: UInt64(arrival - before) << 16 | 0x7000, low: low)
  }

  private static func batch(
    _ ids: [PostgresUUID], arrival: Int64 = arrival, columns: [String] = ["serve_id", "batch_number"]
  ) -> BatchKeys? {
    let rows = TableRows(TableColumns("shown", columns), capacity: 1)
    for id in ids {
      rows.begin()
      rows.buffer.append(uuidHigh: id.high, low: id.low)
      rows.buffer.append(int64: 1)
    }
    return BatchKeys([rows], time: Timestamp(milliseconds: arrival))
  }

  @Test("none where no row has a serve, nor where none names its batch: nobody looks for those by it")
  func none() {
    #expect(Self.batch([]) == nil)
    #expect(Self.batch([Self.id(5)], columns: ["serve_id", "shown_at"]) == nil)
  }

  @Test("what was served in the last two minutes lies between two ids, what was served before is named once")
  func early() throws {
    let near = [Self.id(5), Self.id(Self.twoMinutes), Self.id(7)]
    let alone = try #require(Self.batch(near))
    #expect(alone.keys.named.isEmpty && alone.keys.bounds == near[1]...near[0])
    #expect(alone.lowest == near[1] && alone.highest == near[0])
    let far = [Self.id(Self.twoMinutes + 1), Self.id(80_000_000, 2), Self.id(80_000_000, 1)]
    let both = try #require(Self.batch(near + far + far))
    #expect(both.keys.bounds == alone.keys.bounds && both.keys.named == far.sorted())
    #expect(both.lowest == far[2] && both.highest == near[0])
  }

  @Test("where all were served long before their records came, all are named; where clocks differ the last ad counts")
  func allEarly() throws {
    let far = [Self.id(80_000_005), Self.id(80_000_000)]
    let batch = try #require(Self.batch(far))
    #expect(batch.keys.bounds == nil && batch.keys.named == far.sorted())
    #expect(batch.lowest == far[0] && batch.highest == far[1])
    let ahead = try #require(Self.batch(far, arrival: 0))
    #expect(ahead.keys.named.isEmpty && ahead.keys.bounds == far[0]...far[1])
  }

  @Test("where there are more than may be named, the earliest are, and the bounds take in the others")
  func many() throws {
    let far = (0...64).map { Self.id(80_000_000 - $0) }
    let keys = try #require(Self.batch([Self.id(0)] + far.reversed())).keys
    #expect(keys.named == Array(far.dropLast()) && keys.bounds == far[64]...Self.id(0))
  }

  @Test("of several batches those are named that lie below what no batch names")
  func several() {
    let early = [Self.id(40), Self.id(90), Self.id(80), Self.id(90), Self.id(70)]
    let two = RowKeys(lowest: Self.id(50), highest: Self.id(10), early: early, maximum: 2)
    #expect(two.named == [Self.id(90), Self.id(80)] && two.bounds == Self.id(70)...Self.id(10))
    let three = RowKeys(lowest: Self.id(50), highest: Self.id(10), early: early, maximum: 3)
    #expect(three.named == [Self.id(90), Self.id(80), Self.id(70)] && three.bounds == Self.id(50)...Self.id(10))
    let all = RowKeys(lowest: nil, highest: Self.id(10), early: early, maximum: 9)
    #expect(all.named.count == 4 && all.bounds == nil)
  }

  @Test("ids of the first minutes of 1970 are bounds")
  func first() throws {
    let ids = [PostgresUUID(high: 1 << 16, low: 0), PostgresUUID(high: 0, low: 0)]
    let batch = try #require(Self.batch(ids, arrival: 3))
    #expect(batch.keys.named.isEmpty && batch.keys.bounds == ids[1]...ids[0])
  }
}
