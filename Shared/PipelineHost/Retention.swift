package import Runtime

/// How long a service's rows are kept, and how finely its counts.
package struct Retention: Hashable, Sendable {
  /// Rows of events.
  package var eventDays: Int
  /// Of which client they are; fewer than 90 or as many (A8).
  package var clientDays: Int
  /// Counts by the minute; older ones are by the hour.
  package var minuteDays: Int
  /// Counts by the hour; older ones are by the day.
  package var hourDays: Int
  /// Counts by the day; as many days as `hourDays`, or more. By one dimension each they stay for ever.
  package var dayDays: Int
  /// How many days a table of rows has.
  package var tableDays: Int
  /// By which tables are made and dropped; nil for the way that rows go.
  package var maintenanceURL: String?

  private static let events = ConfigurationKey<Int>.integer(
    "HANDBILL_RETENTION_DAYS", in: 3...36_500, default: 400, help: "How many days of events are kept.")
  /// Rows of ads in flight, and of limits by client, are never older than two days.
  private static let clients = ConfigurationKey<Int>.integer(
    "HANDBILL_CLIENT_DAYS", in: 3...90, default: 90,
    help: "How many days rows say of which client they are, by a keyed hash; then it is taken out of them.")
  /// Two days at least: events of a day come until its end, and for as long as they may be late. What comes later still
  /// is folded later.
  private static let minutes = ConfigurationKey<Int>.integer(
    "HANDBILL_MINUTE_DAYS", in: 2...400, default: 7,
    help: "How many days counts and revenue are kept by the minute; older ones are kept by the hour.")
  private static let hours = ConfigurationKey<Int>.integer(
    "HANDBILL_HOUR_DAYS", in: 2...3_650, default: 400,
    help: "How many days counts and revenue are kept by the hour; older ones are kept by the day.")
  private static let days = ConfigurationKey<Int>.integer(
    "HANDBILL_DAY_DAYS", in: 2...36_500, default: 1_100,
    help: """
      How many days counts and revenue are kept by all dimensions together, HANDBILL_HOUR_DAYS at least; older ones go by \
      the month (UTC), once it is sealed. By one dimension each they stay.
      """)

  /// Rows go by whole tables: those of a table of 31 days go up to 30 days after their time.
  private static let width = ConfigurationKey<Int>.integer(
    "HANDBILL_DAY_TABLE_DAYS", in: 1...31, default: 1,
    help: """
      How many days (UTC) a table of rows has that is made from now on, after the last one that there is. Fewer tables for \
      the database's planner; a table is dropped when its last day is beyond HANDBILL_RETENTION_DAYS.
      """)

  package static let declarations = [
    events.declaration, clients.declaration, minutes.declaration, hours.declaration, days.declaration,
    width.declaration, CommonKeys.maintenanceURL.declaration,
  ]

  package init(reader: inout ConfigurationReader) {
    self.init(
      eventDays: reader.value(Self.events), clientDays: reader.value(Self.clients),
      minuteDays: reader.value(Self.minutes), hourDays: reader.value(Self.hours), dayDays: reader.value(Self.days),
      tableDays: reader.value(Self.width), maintenanceURL: reader.value(CommonKeys.maintenanceURL))
    if dayDays < hourDays {
      reader.report(
        Self.days.declaration.name,
        "must be at least \(Self.hours.declaration.name), \(hourDays): counts become days when they are as old")
    }
  }

  package init(
    eventDays: Int = 400, clientDays: Int = 90, minuteDays: Int = 7, hourDays: Int = 400, dayDays: Int = 1_100,
    tableDays: Int = 1, maintenanceURL: String? = nil
  ) {
    self.eventDays = eventDays
    self.clientDays = clientDays
    self.minuteDays = minuteDays
    self.hourDays = hourDays
    self.dayDays = dayDays
    self.tableDays = tableDays
    self.maintenanceURL = maintenanceURL
  }
}
