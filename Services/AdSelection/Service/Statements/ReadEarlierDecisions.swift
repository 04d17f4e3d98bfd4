internal import AdCore
internal import AdEvents
internal import AdSelectionCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// What requests that came again were answered with. Each is found by its id; the bounds of all, which the planner knows, spare
/// the tables of other days.
struct ReadEarlierDecisions: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT stored.*
    FROM unnest($1::uuid[]) AS asked (id) CROSS JOIN LATERAL (
      SELECT request_id, reason, error, detail, lifetime_milliseconds, image_sizes, image_urls, action, destination,
        \(TermsColumns.list)
      FROM ad_selection.decisions(asked.id, asked.id, $3, $4) AS decision WHERE partition = $2 LIMIT 1
    ) AS stored
    """
  private static let terms = 9
  let partition: Int32
  let ids: [ServeID]

  var parameters: [any PostgresValue] {
    let bounds = IDBounds(secondsOf: ids)
    return [ids, partition, bounds.lowest, bounds.highest]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (id: ServeID, decision: EarlierDecision) {
    let reason: DecisionReason = try row.decode(1)
    // A request with a mistake may have named anything in place of a version 7.
    let requestID: PostgresUUID = try row.decode(0)
    let key = RequestKey(
      requestID: UUIDv7(asWritten: requestID.high, low: requestID.low), client: try row.decode(terms + 18),
      isTest: try row.decode(terms + 19))
    let answer: Answer = reason.isFill ? .ad(try serve(row)) : try error(row)
    return (try row.decode(terms), EarlierDecision(key: key, answer: answer))
  }

  private static func error(_ row: PostgresRow) throws(PostgresError) -> Answer {
    let detail: String? = try row.decode(3)
    return .error(try row.decode(2), detail: detail ?? "")
  }

  private static func serve(_ row: PostgresRow) throws(PostgresError) -> Serve {
    let sizes: [AdSize] = try row.decode(5)
    let urls: [String] = try row.decode(6)
    // What it was sold from matters no more: a repeated request uses nothing.
    return Serve(
      terms: try TermsColumns.decode(row, from: terms),
      images: zip(sizes, urls).map { ServedAd.Image(size: $0, url: $1) },
      action: AdAction(kind: try row.decode(7), destination: try row.decode(8)),
      lifetimeMilliseconds: try row.decode(4), reservation: nil)
  }
}
