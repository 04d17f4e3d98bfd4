internal import AdCore
internal import Postgres

/// By which keys rows of batches are found again: nearly all lie between two ids. Those of ads that were served long before
/// their batch's records arrived are named, or one event that comes a day late would have the rows of a day read, of all
/// partitions.
struct RowKeys: Sendable {
  /// What was served so long before is named. The SDK tells of nearly all ads sooner.
  static let namedBeforeMilliseconds: Int64 = 120_000
  /// So many are named of a batch, of 16 bytes each in its row. Where there are more, the earliest are: that widens the bounds
  /// least.
  static let ofBatchMaximum = 64
  /// So many are asked for at once.
  private static let askedMaximum = 1_024

  /// The lowest and the highest of all that are not named; nil where all are.
  let bounds: ClosedRange<PostgresUUID>?
  /// The keys of the others, all below, in order.
  let named: [PostgresUUID]

  /// - Parameters:
  ///   - lowest: of those that are not to be named; nil where all are.
  ///   - highest: of all.
  ///   - early: the keys of the others, in any order, also several times; where there are too many, the bounds take in the rest.
  init(lowest: PostgresUUID?, highest: PostgresUUID, early: some Sequence<PostgresUUID>, maximum: Int) {
    let below = Set(early.filter { key in lowest.map { key < $0 } ?? true }).sorted()
    named = Array(below.prefix(maximum))
    let first = below.count > maximum ? below[maximum] : lowest
    bounds = first.map { $0...highest }
  }

  /// Of several batches, as the ``columns`` of their rows tell it. Nil where the batches have no rows.
  init?(_ row: PostgresRow, from column: Int) throws(PostgresError) {
    guard let highest: PostgresUUID = try row.decode(column + 1) else { return nil }
    self.init(
      lowest: try row.decode(column), highest: highest, early: try row.decode(column + 2, [PostgresUUID].self),
      maximum: Self.askedMaximum)
  }

  /// Of rows of batches that are called `batches`: the lowest id that is not named, the highest, and the keys that are named.
  static let columns = """
    (SELECT min(CASE WHEN named_serve_ids IS NULL THEN first_serve_id ELSE recent_serve_id END::text)::uuid FROM batches),
    (SELECT max(last_serve_id::text)::uuid FROM batches), ARRAY(SELECT unnest(named_serve_ids) FROM batches)
    """

  /// Three parameters of what looks for those rows: the lowest and the highest that are not named, and the keys that are.
  /// There is always one of these: for an empty list the planner would look into all days.
  static func parameters(_ keys: RowKeys?) -> [any PostgresValue] {
    let (first, last) = (PostgresUUID(high: 0, low: 0), PostgresUUID(high: .max, low: .max))
    let named = keys.map(\.named) ?? []
    // Between the last and the first there is nothing, and every key lies below.
    return [keys?.bounds?.lowerBound ?? last, keys?.bounds?.upperBound ?? first, named.isEmpty ? [first] : named]
  }
}

/// What a batch's row tells of its rows, to be found by.
struct BatchKeys: Sendable {
  let lowest: PostgresUUID
  let highest: PostgresUUID
  /// Of all; where none is named, its bounds are the two above.
  let keys: RowKeys

  /// - Parameter time: when the last of the batch's records arrived; where it has none, when it was decided.
  /// - Returns: nil where no row is found by its serve.
  init?(_ tables: [TableRows], time: Timestamp) {
    var all: ClosedRange<PostgresUUID>?
    tables.forEachServe { ids in
      all = all.map { min($0.lowerBound, ids.lowerBound)...max($0.upperBound, ids.upperBound) } ?? ids
    }
    guard let all else { return nil }
    let border = Self.border(all.upperBound, time)
    var lowest: PostgresUUID? = all.lowerBound
    var early: [PostgresUUID] = []
    if all.lowerBound < border {
      lowest = nil
      tables.forEachServe { ids in
        if ids.upperBound < border {
          early.append(ids.lowerBound)
        } else {
          lowest = min(lowest ?? ids.lowerBound, ids.lowerBound)
        }
      }
    }
    self.lowest = all.lowerBound
    highest = all.upperBound
    keys = RowKeys(lowest: lowest, highest: all.upperBound, early: early, maximum: RowKeys.ofBatchMaximum)
  }

  /// The first id of version 7 of the time from which on nothing is named: its first 48 bits are milliseconds.
  private static func border(_ highest: PostgresUUID, _ time: Timestamp) -> PostgresUUID {
    let last = max(Int64(highest.high >> 16), time.milliseconds)
    return PostgresUUID(high: UInt64(max(0, last - RowKeys.namedBeforeMilliseconds)) << 16, low: 0)
  }

  /// Four columns of the batch's row: the lowest and the highest of all, the lowest that is not named, the keys that are.
  static func parameters(_ batch: BatchKeys?) -> [any PostgresValue] {
    let keys = batch.flatMap { $0.keys.named.isEmpty ? nil : $0.keys }
    return [batch?.lowest, batch?.highest, keys?.bounds?.lowerBound, keys?.named]
  }
}
