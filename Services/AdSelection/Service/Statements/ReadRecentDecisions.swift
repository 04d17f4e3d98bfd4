import AdCore
import AdEvents
import AdSelectionCore
import Postgres
import Runtime

/// A partition's decisions since a moment, oldest first.
struct ReadRecentDecisions: PostgresStatement {
  static let sql = """
    SELECT request_id, reason, error, detail, lifetime_milliseconds, image_sizes, image_urls, action, destination,
      \(TermsColumns.list)
    FROM ad_selection.decision WHERE serve_id >= $2 AND partition = $1 ORDER BY serve_id
    """
  private static let terms = 9
  let partition: Int32
  let since: Timestamp

  var parameters: [any PostgresValue] {
    [partition, UUIDv7(timestamp: since, randomHigh: 0, randomLow: 0).postgres]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> StoredDecision {
    let reason: Int16 = try row.decode(1)
    let client: Int64 = try row.decode(terms + 18)
    let known = try TermsColumns.known(DecisionReason(rawValue: UInt8(clamping: reason)), 1)
    return StoredDecision(
      key: RequestKey(
        requestID: try row.id(0), app: try TermsColumns.known(AppID(row.decode(terms + 3)), terms + 3),
        client: UInt64(bitPattern: client)),
      placement: try TermsColumns.known(PlacementID(row.decode(terms + 8)), terms + 8),
      decidedAt: try row.id(terms).timestamp, reason: known,
      answer: known.isFill ? .ad(try serve(row)) : try error(row))
  }

  private static func error(_ row: PostgresRow) throws(PostgresError) -> Answer {
    let code: Int16 = try row.decode(2)
    let detail: String? = try row.decode(3)
    return .error(try TermsColumns.known(AdError(rawValue: UInt8(clamping: code)), 2), detail: detail ?? "")
  }

  private static func serve(_ row: PostgresRow) throws(PostgresError) -> Serve {
    let sizes: [Int16] = try row.decode(5)
    let urls: [String] = try row.decode(6)
    var images: [ServedAd.Image] = []
    for (size, url) in zip(sizes, urls) {
      images.append(.init(size: try TermsColumns.known(AdSize(rawValue: UInt8(clamping: size)), 5), url: url))
    }
    let kind: Int16 = try row.decode(7)
    // What it was sold from matters no more: a repeated request uses nothing.
    return Serve(
      terms: try TermsColumns.decode(row, from: terms), images: images,
      action: AdAction(
        kind: try TermsColumns.known(AdAction.Kind(rawValue: UInt8(clamping: kind)), 7),
        destination: try row.decode(8)),
      lifetimeMilliseconds: try row.decode(4), reservation: nil)
  }
}
