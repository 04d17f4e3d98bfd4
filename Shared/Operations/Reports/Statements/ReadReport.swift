internal import AdCore
internal import Postgres
internal import Runtime

/// A report: of the groups that the query has room for, and of everything, the sums of each kind of figure.
///
/// Groups go by worth: by their share of what each currency's advertisers pay, summed over the currencies, since amounts
/// of two currencies cannot be compared; then by impressions, then by requests. Where a group has a time, the latest
/// times come first.
struct ReadReport: PostgresStatement {
  /// A part of the figures of one group, or of everything.
  struct Part {
    /// The group's, from 1; nil for everything.
    let rank: Int64?
    /// How many groups there are.
    let groups: Int64
    let group: [String?]
    let figures: ReportFigures
  }

  /// A plan for any report would read the tables of all times, also for one of an hour.
  static let isPrepared = false

  static let sql = """
    WITH parts AS MATERIALIZED (
      SELECT \(ReportParameters.group) AS value, currency, error, NULL::text AS kind, NULL::text AS reason,
        sum(requests)::bigint AS requests, sum(fills)::bigint AS fills, sum(rendered)::bigint AS rendered,
        sum(impressions)::bigint AS impressions, sum(unloaded)::bigint AS unloaded, sum(taps)::bigint AS taps,
        sum(clicks)::bigint AS clicks, sum(stopped_actions)::bigint AS stopped_actions, sum(errors)::bigint AS errors,
        sum(gross_nanos) AS gross, sum(developer_nanos) AS developer, sum(network_nanos) AS network,
        sum(priced_impressions)::bigint AS priced_impressions, 0::bigint AS invalid,
        sum(never_shown)::bigint AS never_shown, sum(expired_unseen)::bigint AS expired_unseen,
        sum(shown_briefly)::bigint AS shown_briefly
      FROM (\(ReportParameters.source("minute", columns))) AS counts
      WHERE \(ReportParameters.condition) GROUP BY 1, 2, 3
      UNION ALL
      SELECT \(ReportParameters.group), NULL, NULL, kind, reason, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        sum(events)::bigint, 0, 0, 0
      FROM (\(ReportParameters.source("invalid_minute", "kind, reason, events"))) AS counts
      WHERE \(ReportParameters.condition) GROUP BY 1, 4, 5
    ), currencies AS (
      SELECT currency, nullif(sum(gross), 0) AS gross FROM parts WHERE currency IS NOT NULL GROUP BY currency
    ), ranks AS (
      SELECT value, count(*) OVER () AS groups, row_number() OVER (
        ORDER BY coalesce(value[9], value[8]) DESC NULLS LAST, sum(p.gross / c.gross) DESC NULLS LAST,
          sum(impressions) DESC, sum(requests) DESC, value) AS rank
      FROM parts p LEFT JOIN currencies c USING (currency) GROUP BY value
    )
    SELECT rank, groups, value, currency, error, kind, reason, \(kept) FROM ranks JOIN parts USING (value) WHERE rank <= $15
    UNION ALL
    SELECT NULL, 0, NULL, currency, error, kind, reason, \(summed) FROM parts GROUP BY 4, 5, 6, 7
    """

  /// What reports add up, of what is counted.
  private static let columns = """
    requests, fills, rendered, impressions, unloaded, taps, clicks, stopped_actions, error, errors, currency, gross_nanos,
      developer_nanos, network_nanos, priced_impressions, never_shown, expired_unseen, shown_briefly
    """
  private static let counts = [
    "requests", "fills", "rendered", "impressions", "unloaded", "taps", "clicks", "stopped_actions", "errors",
    "priced_impressions", "invalid", "never_shown", "expired_unseen", "shown_briefly",
  ]
  private static let amounts = ["gross", "developer", "network"]
  private static let kept = (counts + amounts).joined(separator: ", ")
  private static let summed = (counts.map { "sum(\($0))::bigint" } + amounts.map { "sum(\($0))" })
    .joined(separator: ", ")

  let query: ReportQuery

  var parameters: [any PostgresValue] { ReportParameters(query: query).values + [Int64(query.rowsMaximum)] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Part {
    var figures = ReportFigures()
    figures.requests = try row.decode(7)
    figures.fills = try row.decode(8)
    figures.rendered = try row.decode(9)
    figures.impressions = try row.decode(10)
    figures.unloaded = try row.decode(11)
    figures.taps = try row.decode(12)
    figures.clicks = try row.decode(13)
    figures.stoppedActions = try row.decode(14)
    figures.neverShown = try row.decode(18)
    figures.expiredUnseen = try row.decode(19)
    figures.shownBriefly = try row.decode(20)
    let errors: Int64 = try row.decode(15)
    if errors > 0, let name: String = try row.decode(4) {
      figures.errors[try TermsColumns.known(AdError(name: name), 4)] = errors
    }
    if let currency: String = try row.decode(3) {
      figures.revenue = [
        ReportRevenue(
          currency: currency, gross: try row.decode(21), developer: try row.decode(22), network: try row.decode(23),
          impressions: try row.decode(16))
      ]
    }
    if let kind: String = try row.decode(5), let reason: String = try row.decode(6) {
      let events: Int64 = try row.decode(17)
      if kind == "impression" {
        figures.invalidImpressions[reason] = events
      } else {
        figures.invalidClicks[reason] = events
      }
    }
    let group: [String?]? = try row.decode(2)
    return Part(rank: try row.decode(0), groups: try row.decode(1), group: group ?? [], figures: figures)
  }
}
