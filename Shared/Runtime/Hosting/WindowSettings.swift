import AdCore

/// The network's windows as configuration. Every service of a network has the same.
package enum WindowSettings {
  private struct Entry: Sendable {
    let key: ConfigurationKey<Int>
    let apply: @Sendable (inout Windows, Int64) -> Void
  }

  private static let defaults = Windows()

  private static let entries: [Entry] = [
    entry("HANDBILL_BANNER_TOKEN_LIFE", defaults.bannerTokenMilliseconds, "From a banner's decision to its impression.")
    {
      $0.bannerTokenMilliseconds = $1
    },
    entry(
      "HANDBILL_INTERSTITIAL_TOKEN_EXTRA", defaults.interstitialTokenExtraMilliseconds,
      "An interstitial's token lives its content's life and this much longer."
    ) { $0.interstitialTokenExtraMilliseconds = $1 },
    entry(
      "HANDBILL_CONTENT_LIFE_MINIMUM", defaults.contentLifeMilliseconds.lowerBound,
      "The shortest life that a response names for its content (D5)."
    ) {
      $0.contentLifeMilliseconds =
        min($1, $0.contentLifeMilliseconds.upperBound)...$0.contentLifeMilliseconds.upperBound
    },
    entry(
      "HANDBILL_CONTENT_LIFE_MAXIMUM", defaults.contentLifeMilliseconds.upperBound,
      "The longest life that a response names for its content (D5)."
    ) {
      $0.contentLifeMilliseconds = min($1, $0.contentLifeMilliseconds.lowerBound)...$1
    },
    entry(
      "HANDBILL_VIEW_TIME", defaults.viewMilliseconds,
      "How long an ad is on screen before it counts as seen; a device that says sooner is not believed."
    ) { $0.viewMilliseconds = $1 },
    entry("HANDBILL_TAP_DELAY_MINIMUM", defaults.tapDelayMilliseconds.lowerBound, "From impression to tap at least.") {
      $0.tapDelayMilliseconds = min($1, $0.tapDelayMilliseconds.upperBound)...$0.tapDelayMilliseconds.upperBound
    },
    entry("HANDBILL_TAP_DELAY_MAXIMUM", defaults.tapDelayMilliseconds.upperBound, "From impression to tap at most.") {
      $0.tapDelayMilliseconds = min($1, $0.tapDelayMilliseconds.lowerBound)...$1
    },
    entry(
      "HANDBILL_ACCIDENTAL_ACTION", defaults.accidentalActionMilliseconds,
      "An action over sooner than this was an accident (M7)."
    ) { $0.accidentalActionMilliseconds = $1 },
    entry("HANDBILL_LATE_ARRIVAL", defaults.lateArrivalMilliseconds, "How long after an event its arrival counts.") {
      $0.lateArrivalMilliseconds = $1
    },
    entry("HANDBILL_BANNER_REFRESH", defaults.bannerRefreshMilliseconds, "A banner asks at most this often (D2).") {
      $0.bannerRefreshMilliseconds = $1
    },
  ]

  package static let declarations = entries.map(\.key.declaration)

  package static func windows(reader: inout ConfigurationReader) -> Windows {
    var windows = Windows()
    for entry in entries { entry.apply(&windows, Int64(reader.value(entry.key))) }
    return windows
  }

  private static func entry(
    _ name: String, _ milliseconds: Int64, _ help: String, apply: @escaping @Sendable (inout Windows, Int64) -> Void
  ) -> Entry {
    Entry(
      key: .milliseconds(name, in: 0...7 * 86_400_000, default: Int(milliseconds), help: help), apply: apply)
  }
}
