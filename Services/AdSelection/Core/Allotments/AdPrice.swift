package import AdCore

/// What an ad costs, and so what its sale sets aside.
package struct AdPrice: Hashable, Sendable {
  package var ad: AdID
  package var impression: Nanos
  package var click: Nanos

  package init(ad: AdID, impression: Nanos, click: Nanos) {
    self.ad = ad
    self.impression = impression
    self.click = click
  }

  /// An impression and a click: the most that it sets aside. Nil for a negative price, and if that is more than money can
  /// be.
  var full: Nanos? {
    guard impression.value >= 0, click.value >= 0 else { return nil }
    let (sum, overflow) = impression.value.addingReportingOverflow(click.value)
    return overflow ? nil : Nanos(sum)
  }

  /// The impression's price in full, and of the click's price as much as its bound says. Nil for a negative price, and if
  /// that is more than money can be.
  package func reserved(by rates: ClickRateBounds) -> AllotmentUse? {
    guard impression.value >= 0, click.value >= 0 else { return nil }
    let forClicks = rates.reserve(for: ad, clickPrice: click)
    let (total, overflow) = impression.value.addingReportingOverflow(forClicks.value)
    return overflow ? nil : AllotmentUse(total: Nanos(total), forClicks: forClicks)
  }
}
