import AdCore
import Foundation
import Postgres

/// What strangers did that counts, from the tables: by its placement, which is none of the devices'.
///
/// The devices know only of their own; bad records cannot be told apart, so of them the tables' number stands.
enum StrangerShare {
  private static let devicePlacements = ["main", "list", "between-levels", "magazine"]
  /// Of these nobody asks what strangers' part is: they are not compared then.
  private static let figuresOfLives = [
    "freeClicks", "stoppedActions", "rendered", "unloaded", "failed", "neverShown", "expiredUnseen", "shownBriefly",
    "conversions", "failuresWithoutAd",
  ]

  /// Adds it to the devices' tally, so that what is compared then is the devices' share.
  static func add(_ network: FaultNetwork, to tallyPath: String) throws {
    let file = URL(fileURLWithPath: tallyPath)
    guard var tally = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any],
      let startedAt = (tally["startedAt"] as? String).flatMap({ Timestamp(utcText: $0) })?.milliseconds
    else { throw FaultFailure("the devices' tally cannot be read") }
    let connection = try network.connection()
    defer { connection.close() }
    let shares = try numbers(connection, startedAt)
    func add(_ share: Int64, to path: [String]) throws {
      guard path.count > 1 else {
        tally[path[0]] = (tally[path[0]] as? Int64 ?? 0) + share
        return
      }
      var kinds = tally[path[0]] as? [String: Any] ?? [:]
      kinds[path[1]] = (kinds[path[1]] as? Int64 ?? 0) + share
      tally[path[0]] = kinds
    }
    let places = [
      ["requests"], ["impressions", "live"], ["impressions", "test"], ["clicks", "live"], ["clicks", "test"],
      ["accidentalClicks", "live"], ["accidentalClicks", "test"],
    ]
    for (place, share) in zip(places, shares) { try add(share, to: place) }
    tally["rejectedRecords"] = shares[places.count]
    for figure in figuresOfLives { tally[figure] = nil }
    network.note(
      "of strangers: \(shares[0]) requests, \(shares[1] + shares[2]) impressions, \(shares[3...6].reduce(0, +)) taps")
    try JSONSerialization.data(withJSONObject: tally).write(to: file)
  }

  private static func numbers(_ connection: PostgresConnection, _ startedAt: Int64) throws -> [Int64] {
    let sql = """
      WITH of_events AS (
        SELECT 'view' AS event, is_test FROM impression_tracking.impression
        WHERE serve_id >= $1::text::uuid AND NOT placement = ANY ($2)
        UNION ALL
        SELECT CASE verdict WHEN vocabulary.click_verdict('accidental') THEN 'accident' ELSE 'tap' END, is_test
        FROM click_tracking.click
        WHERE serve_id >= $1::text::uuid AND NOT placement = ANY ($2)
          AND vocabulary.click_verdict_name(verdict) IN ('billable', 'accidental', 'limited')
      ), rejections AS (
        SELECT topic, arrival FROM ad_selection.rejected UNION ALL SELECT topic, arrival FROM impression_tracking.rejected
        UNION ALL SELECT topic, arrival FROM click_tracking.rejected
      ), floods AS (
        SELECT last_arrival, rejected_not_kept AS records FROM ad_selection.batch
        UNION ALL SELECT last_arrival, rejected_not_kept FROM impression_tracking.batch
        UNION ALL SELECT last_arrival, rejected_not_kept FROM click_tracking.batch
      )
      SELECT ARRAY[
        (SELECT count(DISTINCT request_id) FROM ad_selection.decision
          WHERE request_id >= $1::text::uuid AND NOT placement = ANY ($2)
            AND vocabulary.outcome_name(outcome) NOT LIKE 'rejected%'),
        (SELECT count(*) FROM of_events WHERE event = 'view' AND NOT is_test),
        (SELECT count(*) FROM of_events WHERE event = 'view' AND is_test),
        (SELECT count(*) FROM of_events WHERE event = 'tap' AND NOT is_test),
        (SELECT count(*) FROM of_events WHERE event = 'tap' AND is_test),
        (SELECT count(*) FROM of_events WHERE event = 'accident' AND NOT is_test),
        (SELECT count(*) FROM of_events WHERE event = 'accident' AND is_test),
        (SELECT count(*) FROM rejections WHERE arrival >= to_timestamp($3::float8 / 1000)
            AND topic IN ('ads.requests', 'ads.impressions', 'ads.clicks'))
          + (SELECT coalesce(sum(records), 0) FROM floods
              WHERE last_arrival >= to_timestamp($3::float8 / 1000) AND records > 0)
      ]::bigint[]
      """
    let hexadecimal = String(startedAt, radix: 16)
    let time = String(repeating: "0", count: 12 - hexadecimal.count) + hexadecimal
    let first = "\(time.prefix(8))-\(time.suffix(4))-7000-8000-000000000000"
    return try connection.query(sql, [first, devicePlacements, Double(startedAt)])[0].decode(0)
  }
}
