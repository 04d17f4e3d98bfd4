import AdClient
import AdCore
import Foundation
import HTTP
import LocalProcesses
import Postgres
import Runtime
import TestValues
import Testing
import Threads

extension WholeNetwork {
  /// The published figures of a real app's first days on iAd (design: "Golden case"), out of the running system.
  @Suite struct GoldenCaseTests {
    static let requests = 26_651
    static let impressions = 9_300
    static let clicks = 1_097

    static let key = "chess-distribution-key"

    static let catalog = sampleCatalogFile(app: "chess", key: key)

    @Test("M1 to M3, B2, B3: 26,651 requests, 9,300 impressions, 1,097 clicks at 10.00 CPM and 2.00 per click")
    func golden() async throws {
      // So that the console marks the case's click rate.
      let settings = ["HANDBILL_ANOMALY_CLICK_RATE": "1000", "HANDBILL_ANOMALY_INTERVAL": "1s"]
      let network = try await TestNetwork.started(
        .init(apps: ["chess"], catalog: Self.catalog, settings: settings))
      defer { network.stop() }
      let app = try #require(AppID("chess"))
      let placement = try #require(PlacementID("home"))
      let country = try #require(Country("US"))
      let drive = Drive(network: network, app: app, placement: placement, country: country)
      let figures = try await onOwnThread {
        try network.awaitAllotments()
        let served = try drive.ask()
        guard served.count >= Self.impressions else { throw Drive.TooFew(served: served.count) }
        try drive.tell(served)
        try drive.awaitCharges()
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

/// Drives the case: one request by each of 26,651 clients, then views and taps by their ages, all at once.
private struct Drive: Sendable {
  let network: TestNetwork
  let app: AppID
  let placement: PlacementID
  let country: Country

  struct TooFew: Error { let served: Int }

  /// A client with the ad it got.
  struct Served: Sendable {
    let session: AdSession
    let ad: AdContent
  }

  func ask() throws -> [Served] {
    let transport = transport()
    defer { transport.close(timeoutMilliseconds: 5_000) }
    let answers = Monitor<[Served?]>([])
    for number in 0..<WholeNetwork.GoldenCaseTests.requests {
      let session = session(number, transport)
      session.request(AdSession.Wish(placement: placement)) { result in
        let served = if case .ad(let ad) = result { Served(session: session, ad: ad) } else { Served?.none }
        answers.update { $0.append(served) }
      }
    }
    _ = answers.waitForResult(timeoutMilliseconds: nil) { answers in
      answers.count == WholeNetwork.GoldenCaseTests.requests ? true : nil
    }
    return answers.withLock { $0.compactMap(\.self) }
  }

  func tell(_ served: [Served]) throws {
    let transport = transport()
    for (number, one) in served.prefix(WholeNetwork.GoldenCaseTests.impressions).enumerated() {
      let session = AdSession(identity: one.session.identity, transport: transport)
      let answered = one.ad.answeredAt
      let viewed = AdReport(.viewed, .ad(one.ad), at: answered.advanced(byMilliseconds: 1_000))
      session.report(viewed, placement: placement, requestID: nil)
      guard number < WholeNetwork.GoldenCaseTests.clicks else { continue }
      let tapped = AdReport(
        .click(actionMilliseconds: 2_000, leftApplication: false), .ad(one.ad),
        at: answered.advanced(byMilliseconds: 1_200))
      session.report(tapped, placement: placement, requestID: nil)
    }
    guard transport.close(timeoutMilliseconds: 60_000) else { throw TooFew(served: served.count) }
  }

  /// Waits until billing has a fate for every impression and click, and every impression and request is counted.
  func awaitCharges() throws {
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
      """,
      2 * WholeNetwork.GoldenCaseTests.impressions + WholeNetwork.GoldenCaseTests.clicks)
  }

  private func transport() -> KafkaTransport {
    var settings = KafkaTransportSettings(bootstrapServers: network.bootstrapServers, apps: [app])
    settings.isEmbedded = network.isBrokerEmbedded
    settings.deadlineMilliseconds = 60_000
    settings.askAgainMilliseconds = 20_000
    return KafkaTransport(settings: settings)
  }

  private func session(_ number: Int, _ transport: KafkaTransport) -> AdSession {
    AdSession(
      identity: ClientIdentity(
        app: app, appKey: WholeNetwork.GoldenCaseTests.key, clientID: "client-\(number)",
        sessionID: "session-\(number)",
        country: country, device: .phone),
      transport: transport)
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
