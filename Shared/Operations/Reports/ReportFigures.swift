package import AdCore
package import JSON

/// Money of one currency in a report, in nanos.
package struct ReportRevenue: Hashable, Sendable {
  package var currency: String
  /// What advertisers pay.
  package var gross: Int128
  /// The app developer's part (B2).
  package var developer: Int128
  /// The network's part; below 0 where it bears what no budget could pay.
  package var network: Int128
  /// Impressions of ads whose advertisers pay in this currency, as far as billing has taken them: what eCPM divides by.
  package var impressions: Int64

  /// The developer's revenue for a thousand impressions (M3): each currency's over its own impressions, so that money
  /// of one currency is not thinned by ads that are paid in another.
  package var ecpm: Hundredths? { .perThousand(revenue: developer, impressions: impressions) }
  /// What advertisers pay for a thousand impressions.
  package var grossECPM: Hundredths? { .perThousand(revenue: gross, impressions: impressions) }
}

/// The figures of one row of a report (M1 to M3, M6).
package struct ReportFigures: Hashable, Sendable {
  package var requests: Int64 = 0
  package var fills: Int64 = 0
  package var rendered: Int64 = 0
  /// Net: those that count (M1, M4).
  package var impressions: Int64 = 0
  package var unloaded: Int64 = 0
  /// Gross: all taps whose action began, free ones too.
  package var taps: Int64 = 0
  /// Net: taps that count.
  package var clicks: Int64 = 0
  /// Actions that the app blocked or cancelled (A7).
  package var stoppedActions: Int64 = 0
  /// Ads given up without having been on screen (D3).
  package var neverShown: Int64 = 0
  /// Ads whose life ended before they were on screen (D5).
  package var expiredUnseen: Int64 = 0
  /// Ads that the app hid sooner than it may (D12).
  package var shownBriefly: Int64 = 0
  /// Told and not billed, by reason (B8); `impossible` is the only one.
  package var invalidImpressions: [String: Int64] = [:]
  /// Taps that are free, by their verdict (M4 to M7, B8).
  package var invalidClicks: [String: Int64] = [:]
  /// How often each error of rules E occurred.
  package var errors: [AdError: Int64] = [:]
  /// By currency, ascending.
  package var revenue: [ReportRevenue] = []

  package init() {}

  /// The errors, in the order of their codes.
  package var errorsByCode: [(error: AdError, times: Int64)] {
    errors.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key, $0.value) }
  }

  /// All impressions that were told and understood, each once: those that count and those that cannot be.
  package var grossImpressions: Int64 { invalidImpressions.values.reduce(impressions, +) }

  /// Impressions per request in percent (M1).
  package var fillRate: Hundredths? { .percent(impressions, of: requests) }
  /// Clicks per impression in percent (M2).
  package var clickThroughRate: Hundredths? { .percent(clicks, of: impressions) }

  private static func json(_ counts: [String: Int64]) -> JSONValue {
    .object(counts.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .integer($0.value)) })
  }

  /// Exact: money and ratios are texts, absent ratios null (M6). Gross figures are all that was told, net ones
  /// (`impressions`, `clicks`) what counts; the difference stands under `invalid` by reason.
  package var json: JSONValue {
    [
      "requests": .integer(requests), "fills": .integer(fills), "impressions": .integer(impressions),
      "fillRate": .optional(fillRate?.description), "clicks": .integer(clicks),
      "clickThroughRate": .optional(clickThroughRate?.description), "taps": .integer(taps),
      "grossImpressions": .integer(grossImpressions), "grossClicks": .integer(taps),
      "invalid": [
        "impressions": ReportFigures.json(invalidImpressions), "clicks": ReportFigures.json(invalidClicks),
      ],
      "rendered": .integer(rendered), "unloaded": .integer(unloaded), "stoppedActions": .integer(stoppedActions),
      "neverShown": .integer(neverShown), "expiredUnseen": .integer(expiredUnseen),
      "shownBriefly": .integer(shownBriefly),
      "revenue": .list(
        revenue.map { money in
          [
            "currency": .text(money.currency), "gross": .text(MoneyText.format(money.gross)),
            "developer": .text(MoneyText.format(money.developer)), "network": .text(MoneyText.format(money.network)),
            "impressions": .integer(money.impressions), "ecpm": .optional(money.ecpm?.description),
            "grossEcpm": .optional(money.grossECPM?.description),
          ]
        }),
      "errors": .object(
        errorsByCode.map { JSONValue.Member("\($0.error.rawValue)", .integer($0.times)) }),
    ]
  }
}
