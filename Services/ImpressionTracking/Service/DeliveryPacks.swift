internal import AdCore
internal import AdEvents
internal import ImpressionTrackingCore
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// That ads were drawn, as rows of many. Found by their serve ids as `15_deliveries.sql` says.
enum DeliveryPacks {
  /// So many lie in one row. One takes 32 bytes of disk among 64; a row of its own with its key 132.
  private static let sizes = 8...64
  private static let secondMilliseconds: Int64 = 1_000
  private static let columns = TableColumns(
    "impression_tracking.delivery_pack",
    [
      "serve_id", "last_serve_id", "batch_number", "partition", "kind", "serve_ids", "event_times", "terms", "devices",
      "sizes", "countries", "placements",
    ])

  /// What of a batch lies in packs: of live ads what is of the kind that is asked for before it is decided.
  static func split(
    _ deliveries: [ImpressionEffects.Delivery]
  ) -> (packs: [ArraySlice<ImpressionEffects.Delivery>], others: [ImpressionEffects.Delivery]) {
    RowPacks.split(
      deliveries, sizes: sizes,
      as: { $0.kind == ImpressionEffects.Delivery.packedKind && $0.error == nil && !$0.terms.isTest ? $0 : nil },
      by: { $0.terms.serveID.timestamp.milliseconds / secondMilliseconds })
  }

  static func rows(
    _ packs: [ArraySlice<ImpressionEffects.Delivery>], of batch: CommitBatch<ImpressionTracking>, terms: TermsBook
  ) -> TableRows {
    let rows = TableRows(columns, capacity: packs.reduce(0) { $0 + $1.count } * 96)
    let buffer = rows.buffer
    for pack in packs {
      let ids = pack.map(\.terms.serveID)
      guard let first = pack.first, let lowest = ids.min(), let highest = ids.max() else { continue }
      rows.begin()
      buffer.append(lowest)
      buffer.append(highest)
      buffer.append(batch.number)
      buffer.append(batch.partition)
      buffer.append(first.kind)
      buffer.append(list: ids)
      buffer.append(list: pack.map(\.eventTime))
      buffer.append(list: pack.map { terms.name(of: $0.terms) })
      buffer.append(list: pack.map(\.terms.device))
      buffer.append(list: pack.map(\.terms.size))
      buffer.append(list: pack.map(\.terms.country))
      buffer.append(list: pack.map(\.terms.placement))
    }
    return rows
  }
}
