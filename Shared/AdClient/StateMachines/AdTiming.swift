package import AdBasics

/// The intervals that the ad objects go by, in milliseconds. The defaults are the rules' figures; the network's answers set
/// what earns money (``following(_:)``), tests others.
package struct AdTiming: Hashable, Sendable {
  /// A banner asks at most this often, and leaves an ad at least this long (D2, D12).
  package var refreshMilliseconds: Int64 = 30_000
  /// After the first error a banner waits this long before it asks again (D2).
  package var firstRetryMilliseconds: Int64 = 30_000
  /// The wait doubles with each further error up to this (D2).
  package var lastRetryMilliseconds: Int64 = 300_000
  /// How often a banner that is visible without content says so (D4); ours.
  package var emptyVisibleMilliseconds: Int64 = 10_000
  /// How long an ad's images may take to come, all together (E8); ours.
  package var imagesMilliseconds: Int64 = 60_000
  /// The part of the ad's pixels that must be on screen for an impression, 0 to 1 (M1).
  package var viewableFraction = 0.5
  /// How long they must be there without a break for an impression (M1).
  package var viewableMilliseconds: Int64 = 1_000
  /// A click is told once its action has lasted this long (M7).
  package var clickCompleteMilliseconds: Int64 = 2_000
  /// How long what covers may take to come after the app's yes (D11, E10); ours.
  package var coverPendingMilliseconds: Int64 = 10_000
  /// An ad hidden sooner than this after it was shown is noted as brief (D12).
  package var minimumDisplayMilliseconds: Int64 = 30_000

  package init() {}

  /// The network's figures in place of these, as far as they are sound: an answer cannot make a client ask without pause,
  /// or call seen what nobody can see.
  package func following(_ pacing: AdPacing?) -> AdTiming {
    guard let pacing else { return self }
    var timing = self
    timing.refreshMilliseconds = Self.refreshBounds.holding(pacing.refreshMilliseconds)
    timing.minimumDisplayMilliseconds = timing.refreshMilliseconds
    timing.viewableMilliseconds = Self.viewBounds.holding(pacing.viewMilliseconds)
    timing.viewableFraction = Double(Self.fractionBounds.holding(pacing.viewBasisPoints)) / 10_000
    timing.clickCompleteMilliseconds = Self.actionBounds.holding(pacing.actionMilliseconds)
    return timing
  }

  private static let refreshBounds: ClosedRange<Int64> = 5_000...3_600_000
  private static let viewBounds: ClosedRange<Int64> = 100...60_000
  private static let fractionBounds: ClosedRange<Int64> = 100...10_000
  private static let actionBounds: ClosedRange<Int64> = 0...60_000
}

extension ClosedRange<Int64> {
  /// The nearest value within.
  fileprivate func holding(_ value: Int64) -> Int64 { Swift.min(Swift.max(value, lowerBound), upperBound) }
}
