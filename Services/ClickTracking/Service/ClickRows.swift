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
    ServeColumns.names + [
      "batch_number", "record_offset", "id_hash", "is_accidental", "event_time", "arrival", "expires_at",
    ])

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
      buffer.append(click.terms.expiresAt)
    }
    return rows
  }
}

/// When ads were shown, as rows of many: only the few that are tapped are ever looked for.
enum KnownImpressionRows {
  /// Of one row: so many lie in a page, and none is stored apart from its row.
  static let impressionsMaximum = 64
  static let columns = TableColumns(
    "click_tracking.impression_pack",
    ["serve_id", "last_serve_id", "partition", "serve_ids", "shown_at"])

  static func rows(_ batch: CommitBatch<ClickTracking>) -> TableRows {
    let impressions = batch.effects.impressions.sorted { $0.serveID < $1.serveID }
    let rows = TableRows(columns, capacity: impressions.count * 32)
    var rest = impressions[...]
    while let first = rest.first {
      let pack = rest.prefix(impressionsMaximum).prefix { second(of: $0.serveID) == second(of: first.serveID) }
      rest = rest.dropFirst(pack.count)
      append(pack, first: first, partition: batch.partition, to: rows)
    }
    return rows
  }

  /// In which it was served: those of another second are in another row (`FindTappedImpressions`).
  private static func second(of serve: ServeID) -> Int64 { serve.timestamp.milliseconds / 1_000 }

  private static func append(
    _ pack: ArraySlice<ClickEffects.Impression>, first: ClickEffects.Impression, partition: Int32, to rows: TableRows
  ) {
    rows.begin()
    rows.buffer.append(first.serveID)
    rows.buffer.append(pack.last?.serveID ?? first.serveID)
    rows.buffer.append(partition)
    rows.buffer.append(list: pack.map(\.serveID))
    rows.buffer.append(list: pack.map(\.shownAt))
  }
}

extension CopyBuffer {
  /// An array of a type whose binary form is known.
  fileprivate func append(list: some PostgresValue) {
    var bytes: [UInt8] = []
    _ = list.encode(into: &bytes)
    append(bytea: bytes)
  }
}

/// Conversions, as rows. The ad's id is not their first column: it may be 30 days old, and nobody looks for them by their
/// batch, so they take no part in where its other rows are looked for.
enum ConversionRows {
  static let columns = TableColumns(
    "click_tracking.conversion",
    [
      "kind", "serve_id", "id_hash", "partition", "batch_number", "event_time", "arrival", "app", "value", "currency",
      "is_test",
    ])

  static func rows(_ batch: CommitBatch<ClickTracking>) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.conversions.count * 128)
    let buffer = rows.buffer
    for conversion in batch.effects.conversions {
      rows.begin()
      buffer.append(conversion.told.identity.kind)
      buffer.append(conversion.told.reference.serveID)
      buffer.append(conversion.told.identity.idHash)
      buffer.append(batch.partition)
      buffer.append(batch.number)
      buffer.append(conversion.eventTime)
      buffer.append(conversion.arrival)
      buffer.append(conversion.app)
      buffer.append(conversion.told.value)
      buffer.append(text: conversion.told.currency?.text ?? "")
      buffer.append(conversion.isTest)
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
