package import AdCore

/// The network's windows as configuration. Every service of a network has the same.
package enum WindowSettings {
  private struct Entry: Sendable {
    let name: String
    let key: ConfigurationKey<Int>
    let read: @Sendable (Windows) -> Int64
    let apply: @Sendable (inout Windows, Int64) -> Void
  }

  private static let defaults = Windows()

  private static let entries: [Entry] = [
    entry("HANDBILL_BANNER_TOKEN_LIFE", "From a banner's decision to its impression.", read: \.bannerTokenMilliseconds)
    {
      $0.bannerTokenMilliseconds = $1
    },
    entry(
      "HANDBILL_INTERSTITIAL_TOKEN_EXTRA", "An interstitial's token lives its content's life and this much longer.",
      read: \.interstitialTokenExtraMilliseconds
    ) { $0.interstitialTokenExtraMilliseconds = $1 },
    entry(
      "HANDBILL_CONTENT_LIFE_MINIMUM", "The shortest life that a response names for its content (D5).",
      read: \.contentLifeMilliseconds.lowerBound
    ) {
      $0.contentLifeMilliseconds =
        min($1, $0.contentLifeMilliseconds.upperBound)...$0.contentLifeMilliseconds.upperBound
    },
    entry(
      "HANDBILL_CONTENT_LIFE_MAXIMUM", "The longest life that a response names for its content (D5).",
      read: \.contentLifeMilliseconds.upperBound
    ) {
      $0.contentLifeMilliseconds = min($1, $0.contentLifeMilliseconds.lowerBound)...$1
    },
    entry(
      "HANDBILL_VIEW_TIME",
      "How long an ad is on screen before it counts as seen; a device that says sooner is not believed.",
      read: \.viewMilliseconds
    ) { $0.viewMilliseconds = $1 },
    entry("HANDBILL_TAP_DELAY_MINIMUM", "From impression to tap at least.", read: \.tapDelayMilliseconds.lowerBound) {
      $0.tapDelayMilliseconds = min($1, $0.tapDelayMilliseconds.upperBound)...$0.tapDelayMilliseconds.upperBound
    },
    entry("HANDBILL_TAP_DELAY_MAXIMUM", "From impression to tap at most.", read: \.tapDelayMilliseconds.upperBound) {
      $0.tapDelayMilliseconds = min($1, $0.tapDelayMilliseconds.lowerBound)...$1
    },
    entry(
      "HANDBILL_ACCIDENTAL_ACTION", "An action over sooner than this was an accident (M7).",
      read: \.accidentalActionMilliseconds
    ) { $0.accidentalActionMilliseconds = $1 },
    entry(
      "HANDBILL_LATE_ARRIVAL", "How long after an event its arrival counts.", read: \.lateArrivalMilliseconds
    ) { $0.lateArrivalMilliseconds = $1 },
    entry(
      "HANDBILL_CONVERSION_WINDOW",
      "From the serving of an ad to an install or purchase that is put down to its click (M8), as long as its rows are kept "
        + "(HANDBILL_RETENTION_DAYS).", read: \.conversionMilliseconds,
      daysMaximum: Int(Windows.conversionDaysMaximum)
    ) { $0.conversionMilliseconds = $1 },
    entry("HANDBILL_BANNER_REFRESH", "A banner asks at most this often (D2).", read: \.bannerRefreshMilliseconds) {
      $0.bannerRefreshMilliseconds = $1
    },
  ]

  package static let declarations = entries.map(\.key.declaration)

  package static func windows(reader: inout ConfigurationReader) -> Windows {
    var windows = Windows()
    for entry in entries { entry.apply(&windows, Int64(reader.value(entry.key))) }
    return windows
  }

  /// The windows as they are stored: each by the name of its setting.
  package static func stored(_ windows: Windows) -> [(name: String, milliseconds: Int64)] {
    entries.map { ($0.name, $0.read(windows)) }
  }

  /// Windows out of stored ones; what is not among them has its default.
  package static func windows(stored: [String: Int64]) -> Windows {
    var windows = Windows()
    for entry in entries {
      if let milliseconds = stored[entry.name] { entry.apply(&windows, milliseconds) }
    }
    return windows
  }

  private static func entry(
    _ name: String, _ help: String, read: @escaping @Sendable (Windows) -> Int64, daysMaximum: Int = 7,
    apply: @escaping @Sendable (inout Windows, Int64) -> Void
  ) -> Entry {
    Entry(
      name: name,
      key: .milliseconds(name, in: 0...daysMaximum * 86_400_000, default: Int(read(defaults)), help: help), read: read,
      apply: apply)
  }
}
