internal import AdCore
internal import Postgres
internal import Runtime

/// What the statement of a report is given: how to group, and what to take.
struct ReportParameters: Sendable {
  let query: ReportQuery

  /// `$1` is the grouping, `$2` to `$8` the filters, `$9` and `$10` the times, `$11` which traffic, `$12` and `$13` filters by
  /// time, `$14` the dimension of rollups.
  var values: [any PostgresValue] {
    [query.grouping.map(\.rawValue)] + [.app, .campaign, .ad, .country, .size, .device, .placement].map(filter)
      + [query.from, query.until, query.isTest, filter(.day), filter(.hour), query.rollup]
  }

  /// What is counted, with all dimensions and by the minute; or rolled up by the one that the report is of, all others being
  /// NULL. Only one of the two is in the plan: it is made for this dimension.
  static func source(_ view: String, _ columns: String) -> String {
    """
    SELECT minute, is_test, \(dimensions.joined(separator: ", ")), \(columns) FROM reporting.\(view) WHERE $14::text IS NULL
      UNION ALL
      SELECT hour, is_test, \(dimensions.map { "CASE $14 WHEN '\($0)' THEN value END" }.joined(separator: ", ")), \(columns)
      FROM reporting.\(view.replacing("minute", with: "by_dimension")) WHERE dimension = $14
    """
  }

  private static let dimensions = ReportDimension.allCases.filter { !$0.isTime }.map(\.rawValue)

  private func filter(_ dimension: ReportDimension) -> String? { query.filter[dimension] }

  /// The group's values as one array of nine texts; NULL where the report does not group by it.
  static let group = """
    ARRAY[CASE WHEN 'app' = ANY ($1) THEN app END, CASE WHEN 'campaign' = ANY ($1) THEN campaign END,
      CASE WHEN 'ad' = ANY ($1) THEN ad END, CASE WHEN 'country' = ANY ($1) THEN country END,
      CASE WHEN 'size' = ANY ($1) THEN size END, CASE WHEN 'device' = ANY ($1) THEN device END,
      CASE WHEN 'placement' = ANY ($1) THEN placement END,
      CASE WHEN 'day' = ANY ($1) THEN to_char(minute AT TIME ZONE 'UTC', 'YYYY-MM-DD') END,
      CASE WHEN 'hour' = ANY ($1) THEN to_char(minute AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"') END]
    """

  static let condition = """
    ($2::text IS NULL OR app = $2) AND ($3::text IS NULL OR campaign = $3) AND ($4::text IS NULL OR ad = $4)
      AND ($5::text IS NULL OR country = $5) AND ($6::text IS NULL OR size = $6)
      AND ($7::text IS NULL OR device = $7) AND ($8::text IS NULL OR placement = $8)
      AND ($9::timestamptz IS NULL OR minute >= $9) AND ($10::timestamptz IS NULL OR minute < $10) AND is_test = $11
      AND ($12::text IS NULL OR to_char(minute AT TIME ZONE 'UTC', 'YYYY-MM-DD') = $12)
      AND ($13::text IS NULL OR to_char(minute AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"') = $13)
    """

  /// The values of the dimensions that the report groups by, out of the array.
  static func values(_ group: [String?], of grouping: [ReportDimension]) -> [String] {
    grouping.map { dimension in
      let index = ReportDimension.allCases.firstIndex(of: dimension) ?? 0
      return group.indices.contains(index) ? group[index] ?? "" : ""
    }
  }
}
