package import AdCore

/// The experience that every ad is taken to have had, as configuration: ad selection's auctions and billing's
/// reservations for clicks begin with it. Every service of a network has the same.
package enum ClickRateSettings {
  private static let priorClicks = ConfigurationKey<Int>.integer(
    "HANDBILL_PRIOR_CLICKS", in: 0...1_000_000, default: 2, help: "Clicks that every ad is taken to have had.")
  private static let priorImpressions = ConfigurationKey<Int>.integer(
    "HANDBILL_PRIOR_IMPRESSIONS", in: 1...100_000_000, default: 200,
    help: "Impressions that every ad is taken to have had.")

  package static let declarations = [priorClicks.declaration, priorImpressions.declaration]

  package static func prior(reader: inout ConfigurationReader) -> ClickCount {
    ClickCount(clicks: Int64(reader.value(priorClicks)), impressions: Int64(reader.value(priorImpressions)))
  }
}
