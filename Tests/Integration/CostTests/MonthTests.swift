import Foundation
import LocalProcesses
import Migrations
import PipelineHost
import Postgres
import TestServices
import Testing

/// Weeks of history cost no more than days of it, and all accounts agree at the end of every day.
@Suite("A month")
struct MonthTests {
  /// How many days; `make month` asks for 30.
  private static let days = ProcessInfo.processInfo.environment["MONTH_DAYS"].flatMap(Int.init) ?? 10
  /// So few days of events are kept in the smoke that some are dropped in it.
  private static let isSmoke = days < 20
  private static let retentionDays = isSmoke ? 3 : 7
  /// What a day may cost that has all the history before it, beside one that had only what is kept: in hundredths.
  private static let growthMaximum: Int64 = 125

  @Test("I1 to I8: restarts, rotated keys, new partitions and dropped days leave no difference, and nothing grows")
  func month() async throws {
    let database = try await TestDatabase.configuration()
    let plan = SimulatedMonth.Plan(
      days: Self.days, batchesPerDay: Self.isSmoke ? 6 : 12, batchAds: Self.isSmoke ? 40 : 60,
      retention: Retention(eventDays: Self.retentionDays, minuteDays: 2, hourDays: 3, dayDays: 3))
    let days = try await onOwnThread {
      try SimulatedMonth(database, plan).run { number, day in
        print(
          "day \(number + 1): \(day.shown) ads, takeover \(day.takeoverRows) rows, database "
            + "\(day.databaseBytes >> 20) MiB, process \(day.residentBytes >> 20) MiB, \(day.dayTables) tables of days, "
            + "\(day.compared) compared, \(day.differences) differences")
      }
    }
    for day in days {
      #expect(day.shown > 0 && day.compared > 0)
      #expect(day.differences == 0 && day.complaint.isEmpty, "\(day.complaint)")
      #expect(day.forgottenAllotments == 0)
    }
    // From then on as much is dropped as is added, in as many partitions.
    let settled = days[Self.days / 3 + Self.retentionDays + 2]
    let last = try #require(days.last)
    let grown = last.relations.map { ($0.key, $0.value - settled.relations[$0.key, default: 0]) }.filter { $0.1 > 0 }
    print(
      "grown since: "
        + grown.sorted { $0.1 > $1.1 }.prefix(12).map { "\($0.1 >> 10) KiB \($0.0)" }.joined(separator: ", "))
    #expect(last.dayTables <= settled.dayTables)
    #expect(last.databaseBytes * 100 <= settled.databaseBytes * Self.growthMaximum)
    #expect(last.residentBytes * 100 <= settled.residentBytes * Self.growthMaximum)
    // What a takeover reads is of the last days only: as many of them there are soon after the network grew.
    let grownUp = days[Self.days / 3 + 2]
    #expect(last.takeoverRows * 100 <= grownUp.takeoverRows * Self.growthMaximum)
  }
}
