internal import AdCore
internal import AdSelectionCore
internal import Postgres

/// Adds counts of requests without their app's key to their partition's rows, which nobody else writes, and forgets the
/// sealed days that are past retention: until it is sealed a day's counts are compared with its rows.
struct AddKeylessCounts: PostgresStatement {
  static let sql = """
    WITH forgotten AS (
      DELETE FROM ad_selection.keyless_count WHERE partition = $1 AND day < $2 AND public.is_sealed(day)
    )
    INSERT INTO ad_selection.keyless_count AS stored (partition, day, reason, requests)
    SELECT $1, added.* FROM unnest($3::date[], $4::smallint[], $5::bigint[]) AS added
    ON CONFLICT (partition, day, reason) DO UPDATE SET requests = stored.requests + excluded.requests
    """

  struct Count {
    let day: PostgresDate
    let reason: DecisionReason
    let requests: Int64
  }

  let partition: Int32
  let oldestDay: PostgresDate
  let counts: [Count]

  var parameters: [any PostgresValue] {
    [
      partition, oldestDay, counts.map(\.day), counts.map(\.reason), counts.map(\.requests),
    ]
  }
}
