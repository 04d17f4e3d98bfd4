internal import AdCore
internal import AdEvents
internal import ImpressionTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Counts of events per minute, as rows: from memory, or from the rows of their batches.
enum ImpressionCounts {
  private static let columns = CountColumns(
    "impression_tracking",
    [
      "is_test": PostgresType.bool, "app": PostgresType.text, "campaign": PostgresType.text, "ad": PostgresType.text,
      "placement": PostgresType.text, "country": PostgresType.text, "size": PostgresType.int2,
      "device": PostgresType.int2, "kind": PostgresType.int2, "error": PostgresType.int2,
      "events": PostgresType.int8,
    ])

  static func rows(_ counts: [ImpressionMinuteKey: Int64], partition: Int32) -> TableRows {
    let rows = TableRows(columns.table, capacity: counts.count * 192)
    let buffer = rows.buffer
    for (key, events) in counts {
      rows.begin()
      buffer.append(int32: partition)
      buffer.append(timestampMicroseconds: key.minute &* 60_000_000)
      buffer.append(bool: key.isTest)
      buffer.append(key.app)
      buffer.append(text: key.served?.campaign.text ?? "")
      buffer.append(text: key.served?.ad.text ?? "")
      buffer.append(text: key.placement?.text ?? "")
      buffer.append(text: key.served?.country.description ?? "")
      buffer.append(int16: Int16(key.served?.size.rawValue ?? 0))
      buffer.append(int16: Int16(key.served?.device.rawValue ?? 0))
      buffer.append(int16: Int16(key.kind.rawValue))
      buffer.append(int16: key.error.map { Int16($0.rawValue) } ?? -1)
      buffer.append(int64: events)
    }
    return rows
  }

  static let countAgain = """
    INSERT INTO impression_tracking.minute_count (\(columns.list))
    \(SequenceBatches.counting("impression_tracking")), event AS (
      SELECT event_time AS time, \(RecordedKind.viewed.number)::smallint AS kind, NULL::smallint AS error, app, campaign, ad,
        placement, country, size, device, is_test
      FROM impression_tracking.impression, counting WHERE \(SequenceBatches.counted)
      UNION ALL
      SELECT event_time, kind, error, app, campaign, ad, placement, country, size, device, is_test
      FROM impression_tracking.delivery, counting WHERE \(SequenceBatches.counted)
      UNION ALL
      SELECT arrival, \(RecordedKind.failed.number), error, app, '', '', '', '', 0, 0, is_test
      FROM impression_tracking.failure WHERE partition = $1 AND batch_number > $2 AND batch_number <= $3
    )
    SELECT $1, date_bin('1 minute', time, 'epoch') AS minute, is_test, app, campaign, ad, placement, country, size, device,
      kind, coalesce(error, -1), count(*)
    FROM event GROUP BY minute, kind, error, app, campaign, ad, placement, country, size, device, is_test
    """
}
