internal import AdCore
internal import Operations
internal import Postgres
internal import Synchronization

/// What the page shows of live or of test traffic, reckoned for all who look at it together: by one at a time, and again only after ten times as long as
/// it took, so that open pages, however many, take a tenth of one connection.
final class DashboardReports: Sendable {
  /// Days in UTC, today's included.
  static let daysShown: Int64 = 7
  private static let restFactor: Int64 = 10
  private static let rowsMaximum = 50

  private let pool: PostgresPool
  private let clock: any TimeSource
  private let isTest: Bool
  private let made = Mutex(Made())

  private struct Made: Sendable {
    var reports: [Report] = []
    /// Until then they are not reckoned again (monotonic ms).
    var validUntil = Int64.min
  }

  init(_ pool: PostgresPool, isTest: Bool, clock: any TimeSource) {
    self.pool = pool
    self.isTest = isTest
    self.clock = clock
  }

  /// One report for each way of looking. Whoever comes while they are reckoned waits for them.
  func reports() throws(PostgresError) -> [Report] {
    let result = made.withLock { made in
      Result { () throws(PostgresError) in
        let begin = clock.monotonicMilliseconds
        guard begin >= made.validUntil else { return made.reports }
        made.reports = try read()
        let end = clock.monotonicMilliseconds
        made.validUntil = end + (end - begin) * Self.restFactor
        return made.reports
      }
    }
    return try result.get()
  }

  /// Of the latest days: a page that is open asks again and again, and shall not read what there was in years.
  private func read() throws(PostgresError) -> [Report] {
    let today = clock.now.milliseconds / Windows.dayMilliseconds
    let from = Timestamp(milliseconds: (today - Self.daysShown + 1) * Windows.dayMilliseconds)
    var reports: [Report] = []
    for dimension in [ReportDimension.app, .campaign, .country, .device] {
      let query = ReportQuery(grouping: [dimension], from: from, isTest: isTest, rowsMaximum: Self.rowsMaximum)
      reports.append(try Reports(pool).report(query))
    }
    return reports
  }
}
