/// The intervals that the ad objects go by, in milliseconds. The defaults are the rules' figures; tests and simulators
/// set others.
public struct AdTiming: Hashable, Sendable {
  /// A banner asks at most this often, and leaves an ad at least this long (D2, D12).
  public var refreshMilliseconds: Int64 = 30_000
  /// After the first error a banner waits this long before it asks again (D2).
  public var firstRetryMilliseconds: Int64 = 30_000
  /// The wait doubles with each further error up to this (D2).
  public var lastRetryMilliseconds: Int64 = 300_000
  /// How often a banner that is visible without content says so (D4); ours.
  public var emptyVisibleMilliseconds: Int64 = 10_000
  /// The part of the ad's pixels that must be on screen for an impression, 0 to 1 (M1).
  public var viewableFraction = 0.5
  /// How long they must be there without a break for an impression (M1).
  public var viewableMilliseconds: Int64 = 1_000
  /// A click is told once its action has lasted this long (M7).
  public var clickCompleteMilliseconds: Int64 = 2_000
  /// An ad hidden sooner than this after it was shown is noted as brief (D12).
  public var minimumDisplayMilliseconds: Int64 = 30_000

  public init() {}
}
