internal import AdCore
internal import AdSelectionCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Counts of apps' requests per minute, as rows: from memory, or from the decisions of their batches.
enum RequestCounts {
  private static let columns = CountColumns(
    "ad_selection",
    [
      "is_test": PostgresType.bool, "reason": PostgresType.int2, "injected_error": PostgresType.int2,
      "app": PostgresType.text, "campaign": PostgresType.text, "ad": PostgresType.text,
      "placement": PostgresType.text, "country": PostgresType.text, "device": PostgresType.int2,
      "size": PostgresType.int2, "requests": PostgresType.int8, "fills": PostgresType.int8,
    ])

  static func rows(_ counts: [SelectionCountKey: Int64], partition: Int32) -> TableRows {
    let rows = TableRows(columns.table, capacity: counts.count * 192)
    let buffer = rows.buffer
    for (key, requests) in counts {
      guard case .ofApp(let key) = key else { continue }
      rows.begin()
      buffer.append(int32: partition)
      buffer.append(timestampMicroseconds: key.minute.milliseconds &* 1_000)
      buffer.append(bool: key.isTest)
      buffer.append(key.reason)
      buffer.append(int16: key.injectedError?.number ?? -1)
      buffer.append(key.app)
      buffer.append(text: key.campaign?.text ?? "")
      buffer.append(text: key.ad?.text ?? "")
      buffer.append(text: key.placement?.text ?? "")
      buffer.append(text: key.country?.description ?? "unknown")
      buffer.append(int16: key.device?.number ?? 0)
      buffer.append(int16: key.size?.number ?? 0)
      buffer.append(int64: requests)
      buffer.append(int64: key.reason.isFill ? requests : 0)
    }
    return rows
  }

  /// All decisions of a batch are of one moment: none is named (``RowKeys``).
  static let countAgain = """
    INSERT INTO ad_selection.minute_count (\(columns.list))
    WITH request AS (
      SELECT date_bin('1 minute', arrival, 'epoch') AS minute, reason, app, placement, coalesce(campaign, '') AS campaign,
        coalesce(ad, '') AS ad, coalesce(nullif(country, ''), 'unknown') AS country, device,
        coalesce(size, 0) AS size, is_test,
        CASE reason WHEN \(DecisionReason.testError.number) THEN error ELSE -1 END AS injected_error,
        (reason IN (\(DecisionReason.fills.numbers)))::int AS fills
      FROM \(SequenceBatches.counted("ad_selection.decisions($4, $5)"))
      WHERE NOT ad_selection.is_without_app_key(reason)
    )
    SELECT $1, minute, is_test, reason, injected_error, app, campaign, ad, placement, country, device, size, count(*),
      sum(fills)
    FROM request
    GROUP BY minute, reason, app, placement, campaign, ad, country, device, size, is_test, injected_error
    """

  /// Those without their app's key, per day.
  static let countKeylessAgain = """
    INSERT INTO ad_selection.keyless_count AS stored (partition, day, reason, requests)
    SELECT $1, public.day_of(serve_id), reason, count(*)
    FROM \(SequenceBatches.counted("ad_selection.decisions($4, $5)"))
    WHERE ad_selection.is_without_app_key(reason)
    GROUP BY public.day_of(serve_id), reason
    ON CONFLICT (partition, day, reason) DO UPDATE SET requests = stored.requests + excluded.requests
    """
}
