package import AdCore

/// How long allotments are served from and waited for, and what they reserve for clicks; all of it settings.
package struct BillingSettings: Hashable, Sendable {
  /// The most events that waited for budget and that one batch charges, or gives up.
  package static let readyMaximum: Int32 = 5_000

  package var windows: Windows
  package var caps = TrafficCaps()
  /// How long an allotment serves while all partitions together hold little of the free budget.
  package var quietServeMilliseconds: Int64 = 3_600_000
  /// How long it serves otherwise.
  package var usualServeMilliseconds: Int64 = 60_000
  /// How long it serves when the free budget cannot serve all partitions: they take turns.
  package var scarceServeMilliseconds: Int64 = 5_000
  /// The first and the longest wait, in milliseconds, that an ask is answered with that cannot be granted.
  package var askAgainMilliseconds: ClosedRange<Int64> = 1_000...16_000
  /// How much longer than the last possible event an allotment is kept.
  package var endMarginMilliseconds: Int64 = 600_000

  /// Below so many clicks' worth of free budget an ad reserves its full click price.
  package var scarceClicks: Int64 = 20
  /// Clicks and impressions that everything is taken to have had.
  package var prior = ClickCount(clicks: 2, impressions: 200)
  /// Above so many remembered impressions both counts of a click rate are halved, so that it follows what changes.
  package var rememberedImpressions: Int64 = 20_000

  package init(windows: Windows = Windows()) { self.windows = windows }

  /// How long after its serve-until an allotment ends: the longest token life, the longest tap delay, and a margin.
  package var endDelayMilliseconds: Int64 {
    windows.longestTokenLifeMilliseconds + windows.tapDelayMilliseconds.upperBound + endMarginMilliseconds
  }
}
