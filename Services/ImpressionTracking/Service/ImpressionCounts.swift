internal import AdCore
internal import AdEvents
internal import ImpressionTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Counts of events per minute, as rows: from memory, or from the rows of their batches.
enum ImpressionCounts {
  private static let columns = CountColumns(eventsOf: "impression_tracking", detail: "error")

  static func rows(_ counts: [ImpressionMinuteKey: Int64], partition: Int32) -> TableRows {
    columns.rows(counts, partition: partition) { ($0.event, $0.kind.number, $0.error?.number ?? -1) }
  }

  static let countAgain = """
    INSERT INTO impression_tracking.minute_count (\(columns.list))
    WITH event AS (
      SELECT event_time AS time, \(RecordedKind.viewed.number)::smallint AS kind, NULL::smallint AS error, app, campaign, ad,
        placement, country, size, device, is_test
      FROM \(SequenceBatches.counted(rowsOf: "impression_tracking.impression"))
      UNION ALL
      SELECT event_time, kind, error, t.app, t.campaign, t.ad, placement, country, size, device, stored.is_test
      FROM \(SequenceBatches.counted(packed: "deliveries", in: "impression_tracking"))
        LEFT JOIN impression_tracking.terms AS t ON t.name = stored.terms
      UNION ALL
      SELECT arrival, \(RecordedKind.failed.number), error, app, '', '', '', '', 0, 0, is_test
      FROM impression_tracking.failure
      WHERE request_id BETWEEN $7 AND $8 AND partition = $1 AND batch_number > $2 AND batch_number <= $3
    )
    SELECT $1, date_bin('1 minute', time, 'epoch') AS minute, is_test, app, campaign, ad, placement, country, size, device,
      kind, coalesce(error, -1), count(*)
    FROM event GROUP BY minute, kind, error, app, campaign, ad, placement, country, size, device, is_test
    """
}
