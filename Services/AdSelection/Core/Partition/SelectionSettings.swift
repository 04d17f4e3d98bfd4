package import AdCore

/// What decides besides catalogue and state; the same for all partitions.
package struct SelectionSettings: Hashable, Sendable {
  package var windows: Windows
  package var throttle: Throttle.Limits
  package var allotments: AllotmentBook.Limits
  /// For tie-breaks, and for test ads (A2): the same seed gives a client the same sequence of test answers.
  package var seed: UInt64
  /// Live requests of an app that are answered with ads in one hour, in all partitions: each takes its part (B8).
  package var appRequestsPerHour: Int64 = 36_000_000
  /// The part of an ad's pixels that must be on screen for an impression, in basis points (M1).
  package var viewBasisPoints: Int64 = 5_000

  package init(
    windows: Windows = Windows(), throttle: Throttle.Limits = Throttle.Limits(),
    allotments: AllotmentBook.Limits = AllotmentBook.Limits(), seed: UInt64 = 1
  ) {
    self.windows = windows
    self.throttle = throttle
    self.throttle.refreshMilliseconds = windows.bannerRefreshMilliseconds
    self.allotments = allotments
    self.seed = seed
  }

  /// What clients are told to go by.
  package var pacing: AdPacing { AdPacing(windows, viewBasisPoints: viewBasisPoints) }
}
