import AdCore
import AdEvents
import ClickTrackingCore
import Pipeline
import Postgres
import Runtime

/// Decided clicks, as rows.
enum ClickRows {
  static let columns =
    TermsColumns.names + ["batch_number", "sequence", "id_hash", "verdict", "was_parked", "event_time", "arrival"]

  static func copy(_ batch: CommitBatch<ClickTracking>, into connection: PostgresConnection) throws(PostgresError) {
    let buffer = CopyBuffer(capacity: batch.effects.clicks.count * 352)
    for click in batch.effects.clicks {
      buffer.beginRow(columnCount: Int16(columns.count))
      TermsColumns.append(click.accepted.terms, to: buffer)
      buffer.append(int64: batch.number)
      buffer.append(int64: click.sequence)
      buffer.append(int64: Int64(bitPattern: click.accepted.idHash))
      buffer.append(int16: Int16(click.accepted.verdict.rawValue))
      buffer.append(bool: click.wasParked)
      buffer.append(timestampMicroseconds: click.accepted.eventTime.milliseconds &* 1_000)
      buffer.append(timestampMicroseconds: click.accepted.arrival.milliseconds &* 1_000)
    }
    _ = try connection.copy(into: "click_tracking.click", columns: columns, buffer)
  }
}

/// Clicks that begin to wait, as rows.
enum ParkedRows {
  static let columns =
    TermsColumns.names + ["batch_number", "record_offset", "id_hash", "is_accidental", "event_time", "arrival"]

  static func copy(_ batch: CommitBatch<ClickTracking>, into connection: PostgresConnection) throws(PostgresError) {
    let buffer = CopyBuffer(capacity: batch.effects.parked.count * 384)
    for click in batch.effects.parked.values.joined() {
      buffer.beginRow(columnCount: Int16(columns.count))
      TermsColumns.append(click.terms, to: buffer)
      buffer.append(int64: click.batchNumber)
      buffer.append(int64: click.offset)
      buffer.append(int64: Int64(bitPattern: click.idHash))
      buffer.append(bool: click.isAccidental)
      buffer.append(timestampMicroseconds: click.eventTime.milliseconds &* 1_000)
      buffer.append(timestampMicroseconds: click.arrival.milliseconds &* 1_000)
    }
    _ = try connection.copy(into: "click_tracking.parked", columns: columns, buffer)
  }
}

/// When ads were shown, as rows.
enum ImpressionRows {
  static let columns = ["serve_id", "shown_at", "partition", "batch_number"]

  static func copy(_ batch: CommitBatch<ClickTracking>, into connection: PostgresConnection) throws(PostgresError) {
    let buffer = CopyBuffer(capacity: batch.effects.impressions.count * 56)
    for impression in batch.effects.impressions {
      buffer.beginRow(columnCount: Int16(columns.count))
      buffer.append(uuidHigh: impression.serveID.high, low: impression.serveID.low)
      buffer.append(timestampMicroseconds: impression.shownAt.milliseconds &* 1_000)
      buffer.append(int32: batch.partition)
      buffer.append(int64: batch.number)
    }
    _ = try connection.copy(into: "click_tracking.impression", columns: columns, buffer)
  }
}

/// Blocked and cancelled actions, as rows.
enum StoppedActionRows {
  static let columns = [
    "serve_id", "kind", "id_hash", "partition", "batch_number", "event_time", "app", "campaign", "is_test",
  ]

  static func copy(_ batch: CommitBatch<ClickTracking>, into connection: PostgresConnection) throws(PostgresError) {
    let buffer = CopyBuffer(capacity: batch.effects.stoppedActions.count * 128)
    for action in batch.effects.stoppedActions {
      buffer.beginRow(columnCount: Int16(columns.count))
      buffer.append(uuidHigh: action.terms.serveID.high, low: action.terms.serveID.low)
      buffer.append(int16: Int16(action.kind.rawValue))
      buffer.append(int64: Int64(bitPattern: action.idHash))
      buffer.append(int32: batch.partition)
      buffer.append(int64: batch.number)
      buffer.append(timestampMicroseconds: action.eventTime.milliseconds &* 1_000)
      buffer.append(text: action.terms.app.text)
      buffer.append(text: action.terms.campaign.text)
      buffer.append(bool: action.terms.isTest)
    }
    _ = try connection.copy(into: "click_tracking.stopped_action", columns: columns, buffer)
  }
}
