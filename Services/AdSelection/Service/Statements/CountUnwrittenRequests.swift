internal import AdCore
internal import AdEvents
internal import AdSelectionCore
internal import Postgres
internal import Runtime

/// Counts the decisions of a partition's batches that came after the last one that wrote its counts; all of them while
/// none did.
///
/// Ids tell the time of the decision, so only the latest days are read. An hour is more than clocks may differ.
struct CountUnwrittenRequests: PostgresStatement {
  static let sql = """
    WITH counted AS (
      SELECT coalesce(max(batch_number), 0) AS last,
        coalesce(extract(epoch FROM max(committed_at) - interval '1 hour'), 0) AS since
      FROM ad_selection.counted WHERE partition = $1
    ), uncounted AS (
      SELECT serve_id, arrival, reason, app, placement, country, device, size, is_test, campaign, ad, error
      FROM ad_selection.decision WHERE partition = $1 AND batch_number > (SELECT last FROM counted)
        AND serve_id >= (SELECT rpad(lpad(to_hex((since * 1000)::bigint), 12, '0'), 32, '0')::uuid FROM counted)
    )
    SELECT date_bin('1 minute', arrival, 'epoch') AS minute, reason, app, placement, country, device, size, is_test,
      campaign, ad, CASE WHEN reason = $2 THEN error END AS injected_error, count(*)
    FROM uncounted WHERE NOT ad_selection.is_without_app_key(reason)
    GROUP BY minute, reason, app, placement, country, device, size, is_test, campaign, ad, injected_error
    UNION ALL
    SELECT public.day_of(serve_id)::timestamp AT TIME ZONE 'UTC' AS minute, reason, NULL, NULL, NULL, NULL, NULL,
      NULL, NULL, NULL, NULL, count(*)
    FROM uncounted WHERE ad_selection.is_without_app_key(reason) GROUP BY minute, reason
    """
  let partition: Int32

  var parameters: [any PostgresValue] { [partition, Int16(DecisionReason.testError.rawValue)] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (key: SelectionCountKey, requests: Int64) {
    let moment: PostgresTimestamp = try row.decode(0)
    let number: Int16 = try row.decode(1)
    let reason = try TermsColumns.known(DecisionReason(rawValue: UInt8(clamping: number)), 1)
    let requests: Int64 = try row.decode(11)
    // By day and reason alone.
    guard let app: String = try row.decode(2) else {
      let day = Int32(clamping: Timestamp(moment).milliseconds / 86_400_000)
      return (.withoutAppKey(day: day, reason: reason), requests)
    }
    var key = MinuteCountKey(
      minute: Timestamp(moment), app: try TermsColumns.known(AppID(app), 2), placement: PlacementID(try row.decode(3)),
      country: Country(try row.decode(4)), device: try choice(row, 5), reason: reason, isTest: try row.decode(7))
    key.size = try choice(row, 6)
    key.campaign = try identifier(row, 8)
    key.ad = try identifier(row, 9)
    key.injectedError = try choice(row, 10)
    return (key: .ofApp(key), requests)
  }

  /// 0 of devices and sizes says that the request did not tell it.
  private static func choice<Choice: RawRepresentable<UInt8>>(
    _ row: PostgresRow, _ column: Int
  ) throws(PostgresError) -> Choice? {
    guard let number: Int16 = try row.decode(column) else { return nil }
    return Choice(rawValue: UInt8(clamping: number))
  }

  private static func identifier<Entity>(
    _ row: PostgresRow, _ column: Int
  ) throws(PostgresError) -> Identifier<Entity>? {
    guard let text: String = try row.decode(column) else { return nil }
    return try TermsColumns.known(Identifier<Entity>(text), column)
  }
}
