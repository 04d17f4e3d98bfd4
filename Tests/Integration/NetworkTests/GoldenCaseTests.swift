import Foundation
import HTTP
import LocalProcesses
import Postgres
import TestValues
import Testing

extension WholeNetwork {
  /// The published figures of a real app's first days on iAd (design: "Golden case"), out of the running system.
  @Suite struct GoldenCaseTests {
    static let requests = 26_651
    static let impressions = 9_300
    static let clicks = 1_097

    static let key = "chess-distribution-key"

    static let catalog = sampleCatalogFile(app: "chess", key: key)

    /// The ways that the devices take: half of them each at once, or, for `make golden`, all of them one and then the other.
    static let runs: [[GoldenDevices.Way]] =
      ProcessInfo.processInfo.environment["GOLDEN_WAYS"] == "apart" ? [[.kafka], [.edge]] : [[.kafka, .edge]]

    @Test(
      "M1 to M3, B2, B3: 26,651 requests, 9,300 impressions, 1,097 clicks at 10.00 CPM and 2.00 per click, by banners of the SDK",
      arguments: runs)
    func golden(ways: [GoldenDevices.Way]) async throws {
      // So that the console marks the case's click rate.
      let settings = ["HANDBILL_ANOMALY_CLICK_RATE": "1000", "HANDBILL_ANOMALY_INTERVAL": "1s"]
      let network = try await TestNetwork.started(
        .init(
          services: ["ad-selection", "impression-tracking", "click-tracking", "billing", "console", "edge"],
          apps: ["chess"], catalog: Self.catalog, settings: settings,
          ownSettings: ["edge": ["HANDBILL_EDGE_ADDRESS_RATE": "0", "HANDBILL_EDGE_CONNECTIONS_OF_ADDRESS": "0"]]))
      defer { network.stop() }
      try await onOwnThread { try network.awaitAllotments() }
      let wanted = GoldenDevices.Wanted(requests: Self.requests, impressions: Self.impressions, clicks: Self.clicks)
      try await withThrowingTaskGroup { group in
        for (way, share) in zip(ways, wanted.shares(ways.count)) {
          let devices = try await GoldenDevices(way, network, key: Self.key, wanted: share)
          group.addTask { try await devices.run() }
        }
        try await group.waitForAll()
      }
      let figures = try await onOwnThread {
        try Self.awaitCharges(network)
        let console = try HTTPClient.get("http://127.0.0.1:\(network.consolePort)/api/v1/reports")
        return [try network.command(["report", "--json"]).output, String(decoding: console.body, as: UTF8.self)]
      }
      for report in figures { try check(report) }
      let marks = try await onOwnThread {
        try network.awaitCondition(
          """
          EXISTS (SELECT FROM console.anomaly WHERE app = 'chess' AND kind = vocabulary.anomaly_kind('clickRate'))
          """)
        return try network.command(["report", "--anomalies", "--json"]).output
      }
      #expect(marks.contains("clickRate") && !marks.contains("repeats"))
      let reconciled = try await onOwnThread { try network.command(["reconcile"]) }
      #expect(reconciled.status == 0)
    }

    /// Waits until billing has a fate for every impression and click, and every impression and request is counted.
    private static func awaitCharges(_ network: TestNetwork) throws {
      try network.awaitCount(
        """
        SELECT count(*) + (SELECT coalesce(sum(events), 0) FROM impression_tracking.all_count
            WHERE kind = vocabulary.delivery_kind('viewed'))::bigint
          + (SELECT coalesce(sum(requests), 0) FROM ad_selection.all_count)::bigint
          - (SELECT count(*) FROM ad_selection.decision)
          + (SELECT coalesce(sum(events), 0) FROM billing.all_revenue)::bigint - count(*)
          + (SELECT coalesce(sum(events), 0) FROM click_tracking.all_count)::bigint
          - (SELECT count(*) FROM click_tracking.click)
        FROM billing.charge
        """, 2 * impressions + clicks)
    }

    /// Every figure to its last digit.
    private func check(_ report: String) throws {
      let total = try JSONDecoder().decode(ReportedTotal.self, from: Data(report.utf8)).total
      #expect(total.requests == Self.requests)
      #expect(total.impressions == Self.impressions)
      #expect(total.clicks == Self.clicks)
      // Nothing of it is invalid: gross is net (B8).
      #expect(total.grossImpressions == Self.impressions)
      #expect(total.grossClicks == Self.clicks)
      #expect(total.fillRate == "34.90")
      #expect(total.clickThroughRate == "11.80")
      let money = try #require(total.revenue.first)
      #expect(total.revenue.count == 1)
      #expect(money.currency == "USD")
      #expect(money.gross == "2287.00")
      #expect(money.developer == "1372.20")
      #expect(money.ecpm == "147.55")
      #expect(money.grossEcpm == "245.91")
    }
  }
}

/// What `handbill report --json` says, as far as the case has figures.
private struct ReportedTotal: Decodable {
  struct Figures: Decodable {
    let requests: Int
    let impressions: Int
    let clicks: Int
    let grossImpressions: Int
    let grossClicks: Int
    let fillRate: String
    let clickThroughRate: String
    let revenue: [Revenue]
  }

  struct Revenue: Decodable {
    let currency: String
    let gross: String
    let developer: String
    let ecpm: String
    let grossEcpm: String
  }

  let total: Figures
}
