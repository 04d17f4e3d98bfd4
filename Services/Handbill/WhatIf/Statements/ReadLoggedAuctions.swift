internal import AdCore
internal import AdSelectionCore
internal import Postgres
internal import Runtime

/// A live decision as its row tells it, whether it had an auction or not.
struct LoggedDecision: Sendable {
  let serveID: ServeID
  let index: BatchIndex
  let reason: DecisionReason
  /// Nil where it had no auction.
  let auction: LoggedAuction?
  /// The number of the rules that the auction followed.
  let rules: Int64?
  /// The change of the catalogue that it was held after; nil where nobody knows.
  let catalogChange: Int64?
  /// How many ads each rule kept from it first.
  let excluded: [(reason: NoServeReason, ads: Int32)]
  /// What it sold from which allotment; nil where it sold nothing.
  let sale: (allotment: UInt64, campaign: CampaignID, amount: Nanos)?
}

/// Which rows a slice of a partition's batches has: between which batches, and between which serve ids they lie.
struct BatchSlice: Sendable {
  let last: Int64
  /// Nil where none of the batches has rows.
  let ids: (first: PostgresUUID, last: PostgresUUID)?
}

/// The next batches of a partition, from one on; nil for the last where there are no more.
struct ReadBatchSlice: PostgresStatement {
  static let sql = """
    WITH slice AS MATERIALIZED (
      SELECT batch_number, first_serve_id, last_serve_id FROM ad_selection.batch
      WHERE partition = $1 AND batch_number >= $2 ORDER BY batch_number LIMIT $3
    )
    SELECT max(batch_number), min(first_serve_id::text)::uuid, max(last_serve_id::text)::uuid FROM slice
    """
  let partition: Int32
  let first: Int64
  let limit: Int64

  var parameters: [any PostgresValue] { [partition, first, limit] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> BatchSlice? {
    guard let last = try row.decode(0, Int64?.self) else { return nil }
    let bounds = (try row.decode(1, PostgresUUID?.self), try row.decode(2, PostgresUUID?.self))
    guard let first = bounds.0, let end = bounds.1 else { return BatchSlice(last: last, ids: nil) }
    return BatchSlice(last: last, ids: (first, end))
  }
}

/// The live decisions of a slice, in the order in which they were made.
struct ReadLoggedAuctions: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT serve_id, batch_number, batch_index, reason, rules, catalog_change, paid_ads, request_id, app, country,
      device, required_sizes, segments, ad, campaign, currency, impression_price, click_price, expected_value,
      allotment, reserved, excluded_reasons, excluded_counts
    FROM ad_selection.decisions($4, $5)
    WHERE partition = $1 AND batch_number BETWEEN $2 AND $3 AND NOT is_test
    ORDER BY batch_number, batch_index
    """
  let partition: Int32
  let first: Int64
  let last: Int64
  let ids: (first: PostgresUUID, last: PostgresUUID)

  var parameters: [any PostgresValue] { [partition, first, last, ids.first, ids.last] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> LoggedDecision {
    let serveID: ServeID = try row.decode(0)
    let index = BatchIndex(batch: try row.decode(1), index: try row.decode(2, Int32?.self) ?? 0)
    let reason: DecisionReason = try row.decode(3)
    let rules: Int64? = try row.decode(4)
    return LoggedDecision(
      serveID: serveID, index: index, reason: reason,
      auction: rules == nil ? nil : try auction(row, serveID, index, reason), rules: rules,
      catalogChange: try row.decode(5), excluded: try excluded(row),
      sale: try sale(row))
  }

  private static func excluded(_ row: PostgresRow) throws(PostgresError) -> [(reason: NoServeReason, ads: Int32)] {
    let reasons: [Int16] = try row.decode(21)
    let counts: [Int32] = try row.decode(22)
    return zip(reasons, counts).compactMap { number, ads in
      UInt8(exactly: number).flatMap(NoServeReason.init(rawValue:)).map { ($0, ads) }
    }
  }

  private static func sale(
    _ row: PostgresRow
  ) throws(PostgresError) -> (allotment: UInt64, campaign: CampaignID, amount: Nanos)? {
    guard let reserved = try row.decode(20, Nanos?.self) else { return nil }
    return (try row.decode(19), try row.decode(14), reserved)
  }

  private static func auction(
    _ row: PostgresRow, _ serveID: ServeID, _ index: BatchIndex, _ reason: DecisionReason
  ) throws(PostgresError) -> LoggedAuction {
    let requestID: PostgresUUID = try row.decode(7)
    let request = LiveAuction.Request(
      requestID: UUIDv7(asWritten: requestID.high, low: requestID.low), app: try row.decode(8),
      country: try row.decode(9), device: try row.decode(10),
      requiredSizes: SizeBits(bits: try row.decode(11)).sizes, segments: try row.decode(12, [String]?.self) ?? [])
    var outcome = AuctionOutcome(reason: reason)
    if reason.isFill {
      outcome.fill = AuctionOutcome.Fill(
        ad: try row.decode(13), campaign: try row.decode(14), currency: try row.decode(15),
        impressionPrice: try row.decode(16), clickPrice: try row.decode(17), expectedValue: try row.decode(18))
    }
    return LoggedAuction(
      serveID: serveID, index: index, request: request, paidAds: try row.decode(6), outcome: outcome)
  }
}
