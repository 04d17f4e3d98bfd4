internal import AdCore
internal import AdEvents
internal import ClickTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Counts of taps per minute, as rows: from memory, or from the rows of their batches.
enum TapCounts {
  private static let columns = CountColumns(
    "click_tracking",
    [
      "is_test": PostgresType.bool, "app": PostgresType.text, "campaign": PostgresType.text, "ad": PostgresType.text,
      "placement": PostgresType.text, "country": PostgresType.text, "size": PostgresType.int2,
      "device": PostgresType.int2, "kind": PostgresType.int2, "verdict": PostgresType.int2,
      "events": PostgresType.int8,
    ])

  static func rows(_ counts: [ClickMinuteKey: Int64], partition: Int32) -> TableRows {
    let rows = TableRows(columns.table, capacity: counts.count * 192)
    let buffer = rows.buffer
    for (key, events) in counts {
      rows.begin()
      buffer.append(int32: partition)
      buffer.append(timestampMicroseconds: key.minute &* 60_000_000)
      buffer.append(bool: key.isTest)
      buffer.append(key.app)
      buffer.append(key.campaign)
      buffer.append(key.ad)
      buffer.append(key.placement)
      buffer.append(key.country)
      buffer.append(int16: Int16(key.size.rawValue))
      buffer.append(int16: Int16(key.device.rawValue))
      buffer.append(int16: Int16(key.kind.rawValue))
      buffer.append(int16: Int16(key.verdict?.rawValue ?? 0))
      buffer.append(int64: events)
    }
    return rows
  }

  static let countAgain = """
    INSERT INTO click_tracking.minute_count (\(columns.list))
    \(SequenceBatches.counting("click_tracking")), event AS (
      SELECT event_time AS time, \(TapKind.click.number)::smallint AS kind, verdict, app, campaign, ad, placement, country,
        size, device, is_test
      FROM click_tracking.click, counting WHERE \(SequenceBatches.counted)
      UNION ALL
      SELECT event_time, kind, 0, app, campaign, ad, placement, country, size, device, is_test
      FROM click_tracking.stopped_action, counting WHERE \(SequenceBatches.counted)
    )
    SELECT $1, date_bin('1 minute', time, 'epoch') AS minute, is_test, app, campaign, ad, placement, country, size, device,
      kind, verdict, count(*)
    FROM event GROUP BY minute, kind, verdict, app, campaign, ad, placement, country, size, device, is_test
    """
}
