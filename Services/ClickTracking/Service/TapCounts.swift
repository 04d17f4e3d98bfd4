internal import AdCore
internal import AdEvents
internal import ClickTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Counts of taps per minute, as rows: from memory, or from the rows of their batches.
enum TapCounts {
  private static let columns = CountColumns(eventsOf: "click_tracking", detail: "verdict")

  static func rows(_ counts: [ClickMinuteKey: Int64], partition: Int32) -> TableRows {
    columns.rows(counts, partition: partition) { ($0.event, $0.kind.number, $0.verdict?.number ?? 0) }
  }

  static let countAgain = """
    INSERT INTO click_tracking.minute_count (\(columns.list))
    WITH event AS (
      SELECT event_time AS time, \(TapKind.click.number)::smallint AS kind, verdict, app, campaign, ad, placement, country,
        size, device, is_test
      FROM \(SequenceBatches.counted(rowsOf: "click_tracking.click"))
      UNION ALL
      SELECT event_time, kind, 0, app, campaign, ad, placement, country, size, device, is_test
      FROM \(SequenceBatches.counted(rowsOf: "click_tracking.stopped_action"))
    )
    SELECT $1, date_bin('1 minute', time, 'epoch') AS minute, is_test, app, campaign, ad, placement, country, size, device,
      kind, verdict, count(*)
    FROM event GROUP BY minute, kind, verdict, app, campaign, ad, placement, country, size, device, is_test
    """
}
