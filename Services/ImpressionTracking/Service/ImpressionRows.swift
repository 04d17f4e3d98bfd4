internal import AdCore
internal import AdEvents
internal import ImpressionTrackingCore
internal import Pipeline
internal import Postgres
internal import Runtime

/// Accepted impressions, as rows.
enum ImpressionRows {
  static let columns = TableColumns(
    "impression_tracking.impression",
    TermsColumns.names + ["batch_number", "sequence", "event_time", "arrival"])

  static func rows(_ batch: CommitBatch<ImpressionTracking>) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.impressions.count * 320)
    let buffer = rows.buffer
    for impression in batch.effects.impressions {
      rows.begin()
      TermsColumns.append(impression.accepted.terms, to: buffer)
      buffer.append(int64: batch.number)
      buffer.append(int64: impression.sequence)
      buffer.append(timestampMicroseconds: impression.accepted.eventTime.milliseconds &* 1_000)
      buffer.append(timestampMicroseconds: impression.accepted.arrival.milliseconds &* 1_000)
    }
    return rows
  }
}

/// Rendered, unloaded and failed ads, as rows.
enum DeliveryRows {
  static let columns = TableColumns(
    "impression_tracking.delivery",
    [
      "serve_id", "kind", "error", "partition", "batch_number", "event_time", "app", "campaign", "ad", "placement",
      "country", "size", "device", "is_test",
    ])

  static func rows(_ batch: CommitBatch<ImpressionTracking>) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.deliveries.count * 128)
    let buffer = rows.buffer
    for delivery in batch.effects.deliveries {
      rows.begin()
      buffer.append(uuidHigh: delivery.terms.serveID.high, low: delivery.terms.serveID.low)
      buffer.append(int16: Int16(delivery.kind.rawValue))
      if let error = delivery.error { buffer.append(int16: Int16(error.rawValue)) } else { buffer.null() }
      buffer.append(int32: batch.partition)
      buffer.append(int64: batch.number)
      buffer.append(timestampMicroseconds: delivery.eventTime.milliseconds &* 1_000)
      buffer.append(text: delivery.terms.app)
      buffer.append(text: delivery.terms.campaign)
      buffer.append(text: delivery.terms.ad)
      buffer.append(text: delivery.terms.placement)
      buffer.append(text: delivery.terms.country)
      buffer.append(int16: Int16(delivery.terms.size.rawValue))
      buffer.append(int16: Int16(delivery.terms.device.rawValue))
      buffer.append(bool: delivery.terms.isTest)
    }
    return rows
  }
}

/// Failures without an ad, as rows.
enum FailureRows {
  static let columns = TableColumns(
    "impression_tracking.failure",
    ["request_id", "error", "partition", "batch_number", "arrival", "app", "placement"])

  static func rows(_ batch: CommitBatch<ImpressionTracking>) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.failures.count * 96)
    let buffer = rows.buffer
    for row in batch.effects.failures {
      rows.begin()
      buffer.append(uuidHigh: row.failure.requestID.high, low: row.failure.requestID.low)
      buffer.append(int16: Int16(row.failure.error.rawValue))
      buffer.append(int32: batch.partition)
      buffer.append(int64: batch.number)
      buffer.append(timestampMicroseconds: row.arrival.milliseconds &* 1_000)
      buffer.append(text: row.failure.app)
      buffer.append(text: row.failure.placement)
    }
    return rows
  }
}
