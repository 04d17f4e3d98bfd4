internal import AdCore
internal import AdEvents
internal import ClickTrackingCore
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Decided clicks, as rows.
enum ClickRows {
  static let columns = TableColumns(
    "click_tracking.click_row",
    ServeColumns.names + [
      "batch_number", "sequence", "id_hash", "verdict", "was_parked", "event_time", "arrival", "is_accidental",
      "is_judged",
    ])

  static func rows(_ batch: CommitBatch<ClickTracking>, terms: TermsBook) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.clicks.count * 208)
    let buffer = rows.buffer
    for click in batch.effects.clicks {
      rows.begin()
      let serve = click.accepted.terms
      ServeColumns.append(serve, terms: terms.name(of: serve), to: buffer)
      buffer.append(batch.number)
      buffer.append(click.sequence)
      buffer.append(click.accepted.idHash)
      buffer.append(click.accepted.verdict)
      buffer.append(click.wasParked)
      buffer.append(click.accepted.eventTime)
      buffer.append(click.accepted.arrival)
      buffer.append(click.isAccidental)
      buffer.append(click.isJudged)
    }
    return rows
  }
}

/// Clicks that begin to wait, as rows.
enum ParkedRows {
  static let columns = TableColumns(
    "click_tracking.parked_row",
    ServeColumns.names + ["batch_number", "record_offset", "id_hash", "is_accidental", "event_time", "arrival"])

  static func rows(_ batch: CommitBatch<ClickTracking>, terms: TermsBook) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.parked.count * 208)
    let buffer = rows.buffer
    for click in batch.effects.parked.values {
      rows.begin()
      ServeColumns.append(click.terms, terms: terms.name(of: click.terms), to: buffer)
      buffer.append(click.position.batchNumber)
      buffer.append(click.position.offset)
      buffer.append(click.idHash)
      buffer.append(click.isAccidental)
      buffer.append(click.eventTime)
      buffer.append(click.arrival)
    }
    return rows
  }
}

/// When ads were shown, as rows.
enum KnownImpressionRows {
  static let columns = TableColumns(
    "click_tracking.impression",
    ["serve_id", "shown_at", "partition"])

  static func rows(_ batch: CommitBatch<ClickTracking>) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.impressions.count * 48)
    let buffer = rows.buffer
    for impression in batch.effects.impressions {
      rows.begin()
      buffer.append(impression.serveID)
      buffer.append(impression.shownAt)
      buffer.append(batch.partition)
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
      buffer.append(action.terms.serveID)
      buffer.append(action.kind)
      buffer.append(action.idHash)
      buffer.append(batch.partition)
      buffer.append(batch.number)
      buffer.append(action.eventTime)
      buffer.append(action.terms.app)
      buffer.append(action.terms.campaign)
      buffer.append(action.terms.ad)
      buffer.append(action.terms.placement)
      buffer.append(action.terms.country)
      buffer.append(action.terms.size)
      buffer.append(action.terms.device)
      buffer.append(action.terms.isTest)
    }
    return rows
  }
}
