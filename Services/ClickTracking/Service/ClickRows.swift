internal import AdCore
internal import AdEvents
internal import ClickTrackingCore
internal import Pipeline
internal import Postgres
internal import Runtime

/// Decided clicks, as rows.
enum ClickRows {
  static let columns = TableColumns(
    "click_tracking.click",
    TermsColumns.names + [
      "batch_number", "sequence", "id_hash", "verdict", "was_parked", "event_time", "arrival", "is_accidental",
      "is_judged",
    ])

  static func rows(_ batch: CommitBatch<ClickTracking>) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.clicks.count * 360)
    let buffer = rows.buffer
    for click in batch.effects.clicks {
      rows.begin()
      TermsColumns.append(click.accepted.terms, to: buffer)
      buffer.append(int64: batch.number)
      buffer.append(int64: click.sequence)
      buffer.append(int64: Int64(bitPattern: click.accepted.idHash))
      buffer.append(int16: Int16(click.accepted.verdict.rawValue))
      buffer.append(bool: click.wasParked)
      buffer.append(timestampMicroseconds: click.accepted.eventTime.milliseconds &* 1_000)
      buffer.append(timestampMicroseconds: click.accepted.arrival.milliseconds &* 1_000)
      buffer.append(bool: click.isAccidental)
      buffer.append(bool: click.isJudged)
    }
    return rows
  }
}

/// Clicks that begin to wait, as rows.
enum ParkedRows {
  static let columns = TableColumns(
    "click_tracking.parked",
    TermsColumns.names + ["batch_number", "record_offset", "id_hash", "is_accidental", "event_time", "arrival"])

  static func rows(_ batch: CommitBatch<ClickTracking>) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.parked.count * 384)
    let buffer = rows.buffer
    for click in batch.effects.parked.values {
      rows.begin()
      TermsColumns.append(click.terms, to: buffer)
      buffer.append(int64: click.position.batchNumber)
      buffer.append(int64: click.position.offset)
      buffer.append(int64: Int64(bitPattern: click.idHash))
      buffer.append(bool: click.isAccidental)
      buffer.append(timestampMicroseconds: click.eventTime.milliseconds &* 1_000)
      buffer.append(timestampMicroseconds: click.arrival.milliseconds &* 1_000)
    }
    return rows
  }
}

/// When ads were shown, as rows.
enum KnownImpressionRows {
  static let columns = TableColumns(
    "click_tracking.impression",
    ["serve_id", "shown_at", "partition", "batch_number"])

  static func rows(_ batch: CommitBatch<ClickTracking>) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.impressions.count * 56)
    let buffer = rows.buffer
    for impression in batch.effects.impressions {
      rows.begin()
      buffer.append(uuidHigh: impression.serveID.high, low: impression.serveID.low)
      buffer.append(timestampMicroseconds: impression.shownAt.milliseconds &* 1_000)
      buffer.append(int32: batch.partition)
      buffer.append(int64: batch.number)
    }
    return rows
  }
}

/// Blocked and cancelled actions, as rows.
enum StoppedActionRows {
  static let columns = TableColumns(
    "click_tracking.stopped_action",
    [
      "serve_id", "kind", "id_hash", "partition", "batch_number", "event_time", "app", "campaign", "ad", "placement",
      "country", "size", "device", "is_test",
    ])

  static func rows(_ batch: CommitBatch<ClickTracking>) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.stoppedActions.count * 128)
    let buffer = rows.buffer
    for action in batch.effects.stoppedActions {
      rows.begin()
      buffer.append(uuidHigh: action.terms.serveID.high, low: action.terms.serveID.low)
      buffer.append(int16: Int16(action.kind.rawValue))
      buffer.append(int64: Int64(bitPattern: action.idHash))
      buffer.append(int32: batch.partition)
      buffer.append(int64: batch.number)
      buffer.append(timestampMicroseconds: action.eventTime.milliseconds &* 1_000)
      buffer.append(text: action.terms.app.text)
      buffer.append(text: action.terms.campaign.text)
      buffer.append(text: action.terms.ad.text)
      buffer.append(text: action.terms.placement.text)
      buffer.append(text: action.terms.country.description)
      buffer.append(int16: Int16(action.terms.size.rawValue))
      buffer.append(int16: Int16(action.terms.device.rawValue))
      buffer.append(bool: action.terms.isTest)
    }
    return rows
  }
}
