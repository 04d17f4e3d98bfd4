import AdCore
import AdEvents
import ImpressionTrackingCore
import Pipeline
import Postgres
import Runtime

/// Accepted impressions, as rows.
enum ImpressionRows {
  static let columns = TermsColumns.names + ["batch_number", "sequence", "event_time", "arrival"]

  static func copy(_ batch: CommitBatch<ImpressionTracking>, into connection: PostgresConnection) throws(PostgresError)
  {
    let buffer = CopyBuffer(capacity: batch.effects.impressions.count * 320)
    for impression in batch.effects.impressions {
      buffer.beginRow(columnCount: Int16(columns.count))
      TermsColumns.append(impression.accepted.terms, to: buffer)
      buffer.append(int64: batch.number)
      buffer.append(int64: impression.sequence)
      buffer.append(timestampMicroseconds: impression.accepted.eventTime.milliseconds &* 1_000)
      buffer.append(timestampMicroseconds: impression.accepted.arrival.milliseconds &* 1_000)
    }
    _ = try connection.copy(into: "impression_tracking.impression", columns: columns, buffer)
  }
}

/// Rendered, unloaded and failed ads, as rows.
enum DeliveryRows {
  static let columns = [
    "serve_id", "kind", "error", "partition", "batch_number", "event_time", "app", "campaign", "ad", "placement",
    "country", "size", "device", "is_test",
  ]

  static func copy(_ batch: CommitBatch<ImpressionTracking>, into connection: PostgresConnection) throws(PostgresError)
  {
    let buffer = CopyBuffer(capacity: batch.effects.deliveries.count * 128)
    for delivery in batch.effects.deliveries {
      buffer.beginRow(columnCount: Int16(columns.count))
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
    _ = try connection.copy(into: "impression_tracking.delivery", columns: columns, buffer)
  }
}

/// Failures without an ad, as rows.
enum FailureRows {
  static let columns = ["request_id", "error", "partition", "batch_number", "arrival", "app", "placement"]

  static func copy(_ batch: CommitBatch<ImpressionTracking>, into connection: PostgresConnection) throws(PostgresError)
  {
    let buffer = CopyBuffer(capacity: batch.effects.failures.count * 96)
    for row in batch.effects.failures {
      buffer.beginRow(columnCount: Int16(columns.count))
      buffer.append(uuidHigh: row.failure.requestID.high, low: row.failure.requestID.low)
      buffer.append(int16: Int16(row.failure.error.rawValue))
      buffer.append(int32: batch.partition)
      buffer.append(int64: batch.number)
      buffer.append(timestampMicroseconds: row.arrival.milliseconds &* 1_000)
      buffer.append(text: row.failure.app)
      buffer.append(text: row.failure.placement)
    }
    _ = try connection.copy(into: "impression_tracking.failure", columns: columns, buffer)
  }
}
