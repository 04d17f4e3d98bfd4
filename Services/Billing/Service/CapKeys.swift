internal import AdCore
internal import BillingCore
internal import Runtime

/// How much of an app's traffic is billed before a person looks at it, as configuration.
enum CapKeys {
  private static let defaults = TrafficCaps()
  private static let most = 1_000_000_000_000

  static let impressions = key(
    "HANDBILL_CAP_IMPRESSIONS", defaults.impressionsPerHour,
    "Impressions of an app's ads served in one hour, in all partitions; what is beyond is held (B8).")
  static let clicksOfAd = key(
    "HANDBILL_CAP_AD_CLICKS", defaults.clicksOfAdPerHour,
    "Clicks on one ad of an app, of those served in one hour; what is beyond is held (B8).")
  static let clickRate = ConfigurationKey<Int>.integer(
    "HANDBILL_CAP_CLICK_RATE", in: 0...10_000, default: Int(defaults.clickRateBasisPoints),
    help: "Clicks of an app's hour, of 10,000 of its impressions; what is beyond is held (B8).")
  static let clicksBeforeRate = key(
    "HANDBILL_CAP_CLICKS_BEFORE_RATE", defaults.clicksBeforeRate,
    "So many clicks of an app's hour are never too many for its impressions.")
  static let unfunded = ConfigurationKey<Int>.integer(
    "HANDBILL_CAP_UNFUNDED", in: 0...1_000_000_000, default: Int(defaults.unfundedPerDay.value / Nanos.perUnit),
    help: "What the network pays at most for an app's day where no budget can (B4), in units of each currency; each "
      + "partition its part.")
  static let declarations =
    [impressions, clicksOfAd, clicksBeforeRate, clickRate, unfunded].map(\.declaration)

  static func caps(reader: inout ConfigurationReader) -> TrafficCaps {
    var caps = TrafficCaps()
    caps.impressionsPerHour = Int64(reader.value(impressions))
    caps.clicksOfAdPerHour = Int64(reader.value(clicksOfAd))
    caps.clickRateBasisPoints = Int64(reader.value(clickRate))
    caps.clicksBeforeRate = Int64(reader.value(clicksBeforeRate))
    caps.unfundedPerDay = Nanos(Int64(reader.value(unfunded)) * Nanos.perUnit)
    return caps
  }

  private static func key(_ name: String, _ value: Int64, _ help: String) -> ConfigurationKey<Int> {
    .integer(name, in: 0...most, default: Int(value), help: help)
  }
}
