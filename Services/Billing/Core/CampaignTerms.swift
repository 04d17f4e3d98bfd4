package import AdCore

/// What billing knows of a campaign from the catalogue when it is asked for an allotment.
package struct CampaignTerms: Hashable, Sendable {
  package var advertiser: AdvertiserID
  package var currency: Currency
  /// Cuts the advertiser's budget days.
  package var calendar: BudgetCalendar
  package var flightStart: Timestamp
  package var flightEnd: Timestamp
  package var isPaused: Bool

  package init(
    advertiser: AdvertiserID, currency: Currency, calendar: BudgetCalendar, flightStart: Timestamp,
    flightEnd: Timestamp, isPaused: Bool
  ) {
    self.advertiser = advertiser
    self.currency = currency
    self.calendar = calendar
    self.flightStart = flightStart
    self.flightEnd = flightEnd
    self.isPaused = isPaused
  }

  /// The moment at which an allotment granted now ends at the latest: the end of the budget day or of the flight (B4).
  /// Nil when nothing may be granted for `day` now.
  package func servesUntil(day: Int32, now: Timestamp) -> Timestamp? {
    guard !isPaused, flightStart <= now, now < flightEnd else { return nil }
    let today = calendar.day(of: now)
    return today.number == day ? min(today.end, flightEnd) : nil
  }
}
