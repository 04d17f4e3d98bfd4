internal import AdCore
internal import AdEvents
internal import ClickTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Counts of taps per minute, as rows: from memory, or from the rows of their batches.
enum TapCounts {
  private static let names = [
    "partition", "minute", "kind", "verdict", "app", "campaign", "ad", "placement", "country", "size", "device",
    "is_test", "events",
  ]
  private static let columns = TableColumns("click_tracking.minute_count", names)

  static func rows(_ counts: [ClickMinuteKey: Int64], partition: Int32) -> TableRows {
    let rows = TableRows(columns, capacity: counts.count * 192)
    let buffer = rows.buffer
    for (key, events) in counts {
      rows.begin()
      buffer.append(int32: partition)
      buffer.append(timestampMicroseconds: key.minute &* 60_000_000)
      buffer.append(int16: Int16(key.kind.rawValue))
      buffer.append(int16: Int16(key.verdict?.rawValue ?? 0))
      buffer.append(key.app)
      buffer.append(key.campaign)
      buffer.append(key.ad)
      buffer.append(key.placement)
      buffer.append(key.country)
      buffer.append(int16: Int16(key.size.rawValue))
      buffer.append(int16: Int16(key.device.rawValue))
      buffer.append(bool: key.isTest)
      buffer.append(int64: events)
    }
    return rows
  }

  static let countAgain = """
    INSERT INTO click_tracking.minute_count (\(names.joined(separator: ", ")))
    \(SequenceBatches.counting("click_tracking")), event AS (
      SELECT event_time AS time, \(TapKind.click.number)::smallint AS kind, verdict, app, campaign, ad, placement, country,
        size, device, is_test
      FROM click_tracking.click, counting WHERE \(SequenceBatches.counted)
      UNION ALL
      SELECT event_time, kind, 0, app, campaign, ad, placement, country, size, device, is_test
      FROM click_tracking.stopped_action, counting WHERE \(SequenceBatches.counted)
    )
    SELECT $1, date_bin('1 minute', time, 'epoch') AS minute, kind, verdict, app, campaign, ad, placement, country, size,
      device, is_test, count(*)
    FROM event GROUP BY minute, kind, verdict, app, campaign, ad, placement, country, size, device, is_test
    """
}
