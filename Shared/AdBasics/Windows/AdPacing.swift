/// What of the network's windows a client goes by, so that what earns money is set by the network and by no app: it travels
/// in each answer with an ad.
package struct AdPacing: Hashable, Sendable {
  /// A banner asks at most this often, and leaves an ad on screen as long (D2, D12).
  package var refreshMilliseconds: Int64
  /// How long an ad must be on screen without a break to be seen (M1).
  package var viewMilliseconds: Int64
  /// The part of its pixels that must be, in basis points (M1).
  package var viewBasisPoints: Int64
  /// A click is told once its action has lasted this long; shorter ones are accidents (M7).
  package var actionMilliseconds: Int64
  /// A tap sooner than this after the impression earns nothing (M5).
  package var tapDelayMilliseconds: Int64

  package init(
    refreshMilliseconds: Int64, viewMilliseconds: Int64, viewBasisPoints: Int64, actionMilliseconds: Int64,
    tapDelayMilliseconds: Int64
  ) {
    self.refreshMilliseconds = refreshMilliseconds
    self.viewMilliseconds = viewMilliseconds
    self.viewBasisPoints = viewBasisPoints
    self.actionMilliseconds = actionMilliseconds
    self.tapDelayMilliseconds = tapDelayMilliseconds
  }

  /// The network's windows, as far as clients go by them.
  package init(_ windows: Windows, viewBasisPoints: Int64) {
    self.init(
      refreshMilliseconds: windows.bannerRefreshMilliseconds, viewMilliseconds: windows.viewMilliseconds,
      viewBasisPoints: viewBasisPoints, actionMilliseconds: windows.accidentalActionMilliseconds,
      tapDelayMilliseconds: windows.tapDelayMilliseconds.lowerBound)
  }
}
