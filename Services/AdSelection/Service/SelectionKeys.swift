internal import AdCore
internal import AdSelectionCore
internal import Runtime

/// Ad selection's own configuration.
enum SelectionKeys {
  static let testSeed = ConfigurationKey<Int>.integer(
    "HANDBILL_TEST_SEED", in: 0...Int.max, default: 1,
    help: "Test ads follow from it (A2), and which of ads of the same value wins.")
  static let burstRequests = ConfigurationKey<Int>.integer(
    "HANDBILL_BURST_REQUESTS", in: 1...100_000, default: 10,
    help: "Requests of one client within the burst window, whatever their placements (D3).")
  static let burstWindow = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_BURST_WINDOW", in: 1_000...3_600_000, default: 30_000, help: "The burst window (D3).")
  static let askInterval = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_ASK_INTERVAL", in: 100...60_000, default: 1_000,
    help: "Between two asks for budget of one campaign and partition.")
  static let askLead = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_ASK_LEAD", in: 0...600_000, default: 3_000,
    help: "How long before an allotment's end the next is asked for.")
  static let catalogGrace = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_CATALOG_GRACE", in: 0...600_000, default: 5_000,
    help: "How long the catalogue read may disagree with its heartbeat before requests get an error.")
  static let catalogHeartbeat = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_CATALOG_HEARTBEAT", in: 1_000...600_000, default: 10_000,
    help: "Without a heartbeat for so long no paid ads are served.")
  static let appRequests = ConfigurationKey<Int>.integer(
    "HANDBILL_CAP_REQUESTS", in: 1...1_000_000_000_000, default: Int(SelectionSettings().appRequestsPerHour),
    help: "Live requests of an app that are answered with ads in one hour, in all partitions (B8).")
  static let viewFraction = ConfigurationKey<Int>.integer(
    "HANDBILL_VIEW_FRACTION", in: 1...100, unit: "%", default: Int(SelectionSettings().viewBasisPoints / 100),
    help: "The part of an ad's pixels that must be on screen for an impression (M1); clients are told so.")

  static let declarations =
    [
      testSeed.declaration, burstRequests.declaration, burstWindow.declaration, askInterval.declaration,
      askLead.declaration, appRequests.declaration, viewFraction.declaration, catalogGrace.declaration,
      catalogHeartbeat.declaration,
    ] + ClickRateSettings.declarations

  static func settings(_ reader: inout ConfigurationReader, windows: Windows) -> SelectionSettings {
    var throttle = Throttle.Limits()
    throttle.requestsPerWindow = reader.value(burstRequests)
    throttle.windowMilliseconds = Int64(reader.value(burstWindow))
    var allotments = AllotmentBook.Limits()
    allotments.askIntervalMilliseconds = Int64(reader.value(askInterval))
    allotments.leadMilliseconds = Int64(reader.value(askLead))
    var settings = SelectionSettings(
      windows: windows, throttle: throttle, allotments: allotments, seed: UInt64(reader.value(testSeed)))
    settings.appRequestsPerHour = Int64(reader.value(appRequests))
    settings.viewBasisPoints = Int64(reader.value(viewFraction)) * 100
    return settings
  }

  static func clickRates(_ reader: inout ConfigurationReader) -> ClickRates {
    let prior = ClickRateSettings.prior(reader: &reader)
    return ClickRates(prior: ClickRateEstimate(priorClicks: prior.clicks, priorImpressions: prior.impressions))
  }

  static func freshness(_ reader: inout ConfigurationReader) -> CatalogFreshness {
    CatalogFreshness(
      graceMilliseconds: Int64(reader.value(catalogGrace)),
      heartbeatMilliseconds: Int64(reader.value(catalogHeartbeat)))
  }
}
