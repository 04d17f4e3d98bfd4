internal import AdCore
internal import AdEvents
internal import ImpressionTrackingCore
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Accepted impressions, as rows.
enum ImpressionRows {
  static let columns = TableColumns(
    "impression_tracking.impression_row",
    ServeColumns.names + ["batch_number", "sequence", "event_time", "arrival"])

  static func rows(_ batch: CommitBatch<ImpressionTracking>, terms: TermsBook) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.impressions.count * 192)
    let buffer = rows.buffer
    for impression in batch.effects.impressions {
      rows.begin()
      let serve = impression.accepted.terms
      ServeColumns.append(serve, terms: terms.name(of: serve), to: buffer)
      buffer.append(batch.number)
      buffer.append(impression.sequence)
      buffer.append(impression.accepted.eventTime)
      buffer.append(impression.accepted.arrival)
    }
    return rows
  }
}

/// Rendered, unloaded and failed ads, as rows.
enum DeliveryRows {
  static let columns = TableColumns(
    "impression_tracking.delivery_row",
    [
      "serve_id", "kind", "error", "partition", "batch_number", "event_time", "terms", "placement", "country", "size",
      "device", "is_test",
    ])

  static func rows(
    _ deliveries: [ImpressionEffects.Delivery], of batch: CommitBatch<ImpressionTracking>, terms: TermsBook
  ) -> TableRows {
    let rows = TableRows(columns, capacity: deliveries.count * 128)
    let buffer = rows.buffer
    for delivery in deliveries {
      rows.begin()
      buffer.append(delivery.terms.serveID)
      buffer.append(delivery.kind)
      buffer.append(delivery.error?.number ?? -1)
      buffer.append(batch.partition)
      buffer.append(batch.number)
      buffer.append(delivery.eventTime)
      buffer.append(int64: terms.name(of: delivery.terms))
      buffer.append(delivery.terms.placement)
      buffer.append(delivery.terms.country)
      buffer.append(delivery.terms.size)
      buffer.append(delivery.terms.device)
      buffer.append(delivery.terms.isTest)
    }
    return rows
  }
}

/// Failures without an ad, as rows.
enum FailureRows {
  static let columns = TableColumns(
    "impression_tracking.failure",
    ["request_id", "error", "partition", "batch_number", "arrival", "app", "placement", "is_test"])

  static func rows(_ batch: CommitBatch<ImpressionTracking>) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.failures.count * 96)
    let buffer = rows.buffer
    for row in batch.effects.failures {
      rows.begin()
      buffer.append(row.failure.requestID)
      buffer.append(row.failure.error)
      buffer.append(batch.partition)
      buffer.append(batch.number)
      buffer.append(row.arrival)
      buffer.append(row.failure.app)
      buffer.append(row.failure.placement)
      buffer.append(row.isTest)
    }
    return rows
  }
}
