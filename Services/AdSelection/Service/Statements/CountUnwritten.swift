import AdCore
import AdEvents
import AdSelectionCore
import Postgres
import Runtime

/// Counts the decisions of a partition's batches that came after the last one that wrote its counts. A partition that
/// has no such number yet is new, or was counted with each batch so far, by an earlier release: its counting begins here.
///
/// Ids tell the time of the decision, so only the latest days are read. An hour is more than clocks may differ.
struct CountUnwritten: PostgresStatement {
  static let sql = """
    WITH begun AS (
      INSERT INTO ad_selection.counted (partition, batch_number, committed_at)
      SELECT partition, batch_number, $3 FROM ad_selection.partition WHERE partition = $1
      ON CONFLICT DO NOTHING RETURNING batch_number, committed_at
    ), counted AS (
      SELECT max(batch_number) AS last, extract(epoch FROM max(committed_at) - interval '1 hour') AS since FROM (
        SELECT * FROM begun
        UNION ALL SELECT batch_number, committed_at FROM ad_selection.counted WHERE partition = $1
      ) AS known
    )
    SELECT date_bin('1 minute', arrival, 'epoch') AS minute, reason, app, placement, country, device, size, is_test,
      campaign, ad, CASE WHEN reason = $2 THEN error END AS injected_error, count(*)
    FROM ad_selection.decision WHERE partition = $1 AND batch_number > (SELECT last FROM counted)
      AND serve_id >= (SELECT rpad(lpad(to_hex((since * 1000)::bigint), 12, '0'), 32, '0')::uuid FROM counted)
    GROUP BY minute, reason, app, placement, country, device, size, is_test, campaign, ad, injected_error
    """
  let partition: Int32
  let now: Timestamp

  var parameters: [any PostgresValue] { [partition, Int16(DecisionReason.testError.rawValue), now.postgres] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (key: SelectionCountKey, requests: Int64) {
    let minute: PostgresTimestamp = try row.decode(0)
    let reason: Int16 = try row.decode(1)
    let device: Int16 = try row.decode(5)
    let size: Int16? = try row.decode(6)
    let campaign: String? = try row.decode(8)
    let ad: String? = try row.decode(9)
    let injectedError: Int16? = try row.decode(10)
    let request = MinuteCountKey(
      minute: Timestamp(minute), app: try TermsColumns.known(AppID(row.decode(2)), 2),
      placement: try TermsColumns.known(PlacementID(row.decode(3)), 3),
      country: try TermsColumns.known(Country(row.decode(4)), 4),
      device: try TermsColumns.known(Device(rawValue: UInt8(clamping: device)), 5),
      size: try size.map { code throws(PostgresError) in
        try TermsColumns.known(AdSize(rawValue: UInt8(clamping: code)), 6)
      },
      reason: try TermsColumns.known(DecisionReason(rawValue: UInt8(clamping: reason)), 1), isTest: try row.decode(7))
    let key = SelectionCountKey(
      request: request,
      campaign: try campaign.map { id throws(PostgresError) in try TermsColumns.known(CampaignID(id), 8) },
      ad: try ad.map { id throws(PostgresError) in try TermsColumns.known(AdID(id), 9) },
      injectedError: try injectedError.map { code throws(PostgresError) in
        try TermsColumns.known(AdError(rawValue: UInt8(clamping: code)), 10)
      })
    return (key, try row.decode(11))
  }
}
