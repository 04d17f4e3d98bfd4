package import Runtime

/// How long a service's rows are kept, and how finely its counts.
package struct Retention: Hashable, Sendable {
  /// Rows of events.
  package var eventDays: Int
  /// Counts by the minute; older ones are by the hour.
  package var minuteDays: Int
  /// Counts by the hour; older ones are by the day, for ever.
  package var hourDays: Int

  private static let events = ConfigurationKey<Int>.integer(
    "HANDBILL_RETENTION_DAYS", in: 3...36_500, default: 400, help: "How many days of events are kept.")
  /// Two days at least: events of a day come until its end, and for as long as they may be late. What comes later still
  /// is folded later.
  private static let minutes = ConfigurationKey<Int>.integer(
    "HANDBILL_MINUTE_DAYS", in: 2...400, default: 7,
    help: "How many days counts and revenue are kept by the minute; older ones are kept by the hour.")
  private static let hours = ConfigurationKey<Int>.integer(
    "HANDBILL_HOUR_DAYS", in: 2...3_650, default: 400,
    help: "How many days counts and revenue are kept by the hour; older ones are kept by the day, for ever.")

  package static let declarations = [events.declaration, minutes.declaration, hours.declaration]

  package init(reader: inout ConfigurationReader) {
    self.init(
      eventDays: reader.value(Self.events), minuteDays: reader.value(Self.minutes), hourDays: reader.value(Self.hours))
  }

  package init(eventDays: Int = 400, minuteDays: Int = 7, hourDays: Int = 400) {
    self.eventDays = eventDays
    self.minuteDays = minuteDays
    self.hourDays = hourDays
  }
}
