internal import AdCore
internal import AdEvents
internal import ImpressionTrackingCore
internal import Postgres
internal import Runtime

/// Counts the rows of a partition's batches that came after the last one that wrote its counts; the rows of those batches
/// tell between which serve ids they lie.
struct CountUnwrittenImpressions: PostgresStatement {
  static let sql = """
    WITH counted AS (
      SELECT coalesce(max(batch_number), 0) AS last FROM impression_tracking.counted WHERE partition = $1
    ), uncounted AS (
      SELECT min(batch_number) AS first, min(first_serve_id::text)::uuid AS first_id,
        max(last_serve_id::text)::uuid AS last_id
      FROM impression_tracking.batch WHERE partition = $1 AND batch_number > (SELECT last FROM counted)
    ), event AS (
      SELECT event_time AS time, \(RecordedKind.viewed.number)::smallint AS kind, NULL::smallint AS error,
        app, campaign, ad, placement, country, size, device, is_test
      FROM impression_tracking.impression, uncounted
      WHERE serve_id BETWEEN first_id AND last_id AND partition = $1 AND batch_number >= first
      UNION ALL
      SELECT event_time, kind, error, app, campaign, ad, placement, country, size, device, is_test
      FROM impression_tracking.delivery, uncounted
      WHERE serve_id BETWEEN first_id AND last_id AND partition = $1 AND batch_number >= first
      UNION ALL
      SELECT arrival, \(RecordedKind.failed.number), error, app, NULL, NULL, placement, NULL, NULL, NULL, false
      FROM impression_tracking.failure, uncounted WHERE partition = $1 AND batch_number >= first
    )
    SELECT date_bin('1 minute', time, 'epoch') AS minute, kind, error, app, placement, is_test, campaign, ad, country,
      size, device, count(*)
    FROM event GROUP BY minute, kind, error, app, placement, is_test, campaign, ad, country, size, device
    """
  let partition: Int32

  var parameters: [any PostgresValue] { [partition] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (key: ImpressionMinuteKey, events: Int64) {
    let minute: PostgresTimestamp = try row.decode(0)
    let kind: Int16 = try row.decode(1)
    let error: Int16? = try row.decode(2)
    let key = ImpressionMinuteKey(
      minute: minute.microseconds / 60_000_000,
      kind: try TermsColumns.known(RecordedKind(rawValue: UInt8(clamping: kind)), 1),
      error: try error.map { code throws(PostgresError) in
        try TermsColumns.known(AdError(rawValue: UInt8(clamping: code)), 2)
      },
      app: try TermsColumns.known(AppID(row.decode(3)), 3), served: try served(row),
      placement: try TermsColumns.known(PlacementID(row.decode(4)), 4), isTest: try row.decode(5))
    return (key, try row.decode(11))
  }

  private static func served(_ row: PostgresRow) throws(PostgresError) -> ImpressionMinuteKey.Served? {
    guard let campaign: String = try row.decode(6) else { return nil }
    let size: Int16 = try row.decode(9)
    let device: Int16 = try row.decode(10)
    return ImpressionMinuteKey.Served(
      campaign: try TermsColumns.known(CampaignID(campaign), 6), ad: try TermsColumns.known(AdID(row.decode(7)), 7),
      country: try TermsColumns.known(Country(row.decode(8)), 8),
      size: try TermsColumns.known(AdSize(rawValue: UInt8(clamping: size)), 9),
      device: try TermsColumns.known(Device(rawValue: UInt8(clamping: device)), 10))
  }
}
