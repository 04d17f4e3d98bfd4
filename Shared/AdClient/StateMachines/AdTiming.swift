/// The intervals that the ad objects go by, in milliseconds. The defaults are the rules' figures; tests and simulators
/// set others.
package struct AdTiming: Hashable, Sendable {
  /// A banner asks at most this often, and leaves an ad at least this long (D2, D12).
  package var refreshMilliseconds: Int64 = 30_000
  /// After the first error a banner waits this long before it asks again (D2).
  package var firstRetryMilliseconds: Int64 = 30_000
  /// The wait doubles with each further error up to this (D2).
  package var lastRetryMilliseconds: Int64 = 300_000
  /// How often a banner that is visible without content says so (D4); ours.
  package var emptyVisibleMilliseconds: Int64 = 10_000
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
}
