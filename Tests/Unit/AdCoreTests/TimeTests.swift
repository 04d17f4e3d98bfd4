import Testing

@testable import AdBasics
@testable import AdCore

@Suite("Moments as text")
struct TimestampTextTests {
  @Test(
    "Moments are written in UTC and read back",
    arguments: [
      (0, "1970-01-01T00:00:00Z"), (1, "1970-01-01T00:00:00.001Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (1_768_478_400_000, "2026-01-15T12:00:00Z"), (951_782_400_000, "2000-02-29T00:00:00Z"),
      (-2_203_891_200_000, "1900-03-01T00:00:00Z"), (-62_135_596_800_000, "0001-01-01T00:00:00Z"),
      (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ])
  func roundTrip(milliseconds: Int64, text: String) {
    #expect(Timestamp(milliseconds: milliseconds).utcText == text)
    #expect(Timestamp(utcText: text)?.milliseconds == milliseconds)
  }

  @Test("Three digits of a fraction count")
  func fractions() {
    #expect(Timestamp(utcText: "1970-01-01T00:00:00.1Z")?.milliseconds == 100)
    #expect(Timestamp(utcText: "1970-01-01T00:00:00.123999999Z")?.milliseconds == 123)
  }

  @Test(
    "What is no such moment is not read",
    arguments: [
      "", "2026-01-15", "2026-01-15T12:00:00", "2026-01-15 12:00:00Z", "2026-01-15T12:00:00+00:00",
      "2026-02-29T12:00:00Z", "1900-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
      "2026-01-32T00:00:00Z", "2026-01-00T00:00:00Z", "0000-01-01T00:00:00Z", "2026-01-15T24:00:00Z",
      "2026-01-15T12:60:00Z", "2026-01-15T12:00:60Z", "2026-01-15T12:00:00.Z", "2026-01-15T12:00:00.1234567890Z",
      "2026-01-15T12:00:00.1x3Z", "2026-01-15T12:00:001Z", "+026-01-15T12:00:00Z", "２026-01-15T12:00:00Z",
    ])
  func refused(text: String) {
    #expect(Timestamp(utcText: text) == nil)
  }

  @Test("Moments beyond the years 1 to 9999 are shown at the nearest end")
  func ends() {
    #expect(Timestamp(milliseconds: .max).utcText == "9999-12-31T23:59:59.999Z")
    #expect(Timestamp(milliseconds: .min).utcText == "0001-01-01T00:00:00Z")
  }

  @Test("Every day of 800 years follows the one before it")
  func calendar() throws {
    var date = CivilDate(daysSince1970: -146_097)
    for days in Int64(-146_096)...146_097 {
      let next = CivilDate(daysSince1970: days)
      #expect(next.daysSince1970 == days)
      let follows =
        next.day == date.day + 1 && next.month == date.month && next.year == date.year
        || next.day == 1 && next.month == date.month + 1 && next.year == date.year
        || next.day == 1 && next.month == 1 && date.month == 12 && date.day == 31 && next.year == date.year + 1
      if !follows { Issue.record("\(next) follows \(date)") }
      date = next
    }
    #expect(CivilDate(year: 2_369, month: 12, day: 31)?.daysSince1970 == 146_096)
  }
}

@Suite("B4: budget days")
struct BudgetCalendarTests {
  private func day(_ zone: String, _ text: String) throws -> BudgetDay {
    let day = try #require(BudgetCalendar(timeZone: zone)).day(of: try #require(Timestamp(utcText: text)))
    #expect(day.contains(try #require(Timestamp(utcText: text))))
    return day
  }

  @Test("Days are cut at the zone's midnight, to the millisecond")
  func midnight() throws {
    let before = try day("America/New_York", "2026-01-15T04:59:59.999Z")
    let after = try day("America/New_York", "2026-01-15T05:00:00Z")
    #expect(before.number == 20_467 && after.number == 20_468)
    #expect(before.end == after.start && after.start.utcText == "2026-01-15T05:00:00Z")
    #expect(after.end.utcText == "2026-01-16T05:00:00Z")
    #expect(try day("UTC", "1970-01-01T00:00:00Z").number == 0)
    #expect(try day("UTC", "1969-12-31T23:59:59.999Z").number == -1)
    #expect(try day("Asia/Kolkata", "2026-01-14T18:30:00Z").number == 20_468)
  }

  @Test("A day of a clock change has 23 or 25 hours")
  func clockChanges() throws {
    let spring = try day("Europe/Berlin", "2026-03-29T12:00:00Z")
    #expect(spring.end.milliseconds(since: spring.start) == 23 * 3_600_000)
    let autumn = try day("Europe/Berlin", "2026-10-25T12:00:00Z")
    #expect(autumn.end.milliseconds(since: autumn.start) == 25 * 3_600_000)
  }

  @Test("Where a clock change leaves out midnight the day begins with the change")
  func withoutMidnight() throws {
    // Beirut, 2021-03-28: 00:00 became 01:00.
    let day = try day("Asia/Beirut", "2021-03-28T12:00:00Z")
    #expect(day.start.utcText == "2021-03-27T22:00:00Z" && day.end.utcText == "2021-03-28T21:00:00Z")
  }

  @Test("Where a clock change repeats the hour before midnight the day begins at the midnight that is shown")
  func repeatedHour() throws {
    // Beirut, 2021-10-31: at 00:00 the clock went back to 23:00 of the day before.
    let day = try day("Asia/Beirut", "2021-10-31T12:00:00Z")
    #expect(day.start.utcText == "2021-10-30T22:00:00Z" && day.end.utcText == "2021-10-31T22:00:00Z")
  }

  @Test("A day that a zone left out is empty")
  func missingDay() throws {
    // Samoa had no 2011-12-30.
    let before = try day("Pacific/Apia", "2011-12-30T09:59:59.999Z")
    let after = try day("Pacific/Apia", "2011-12-30T10:00:00Z")
    #expect(after.number == before.number + 2 && after.start.utcText == "2011-12-30T10:00:00Z")
  }

  @Test(
    "Through a year of any zone days follow each other without gap or overlap",
    arguments: [
      "UTC", "Europe/Berlin", "America/New_York", "Asia/Beirut", "America/Havana", "Pacific/Apia", "Asia/Kolkata",
      "Australia/Lord_Howe", "America/Asuncion", "Atlantic/Azores", "Africa/Cairo",
    ])
  func partition(zone: String) throws {
    let calendar = try #require(BudgetCalendar(timeZone: zone))
    var day = calendar.day(of: try #require(Timestamp(utcText: "2011-01-01T00:00:00Z")))
    for _ in 0..<1_100 {
      let next = calendar.day(of: day.end)
      #expect(calendar.day(of: day.end.advanced(byMilliseconds: -1)) == day)
      #expect(calendar.day(of: day.start) == day)
      #expect(next.start == day.end && next.number > day.number)
      day = next
    }
  }

  @Test("Unknown zones are refused, and moments at the ends are days all the same")
  func ends() throws {
    #expect(BudgetCalendar(timeZone: "") == nil)
    #expect(BudgetCalendar(timeZone: "Mars/Olympus") == nil)
    let calendar = try #require(BudgetCalendar(timeZone: "Asia/Tokyo"))
    #expect(calendar.day(of: Timestamp(milliseconds: .max)).number > calendar.day(of: Samples.now).number)
    #expect(calendar.day(of: Timestamp(milliseconds: .min)).number < 0)
  }
}
