import AdClient
import AdClientKafka
import Foundation
import LocalProcesses
import TestValues
import Testing

extension WholeNetwork {
  /// An ad for an app, from the tap to the purchase, in a whole network.
  @Suite struct ConversionNetworkTests {
    private static var catalog: String {
      BreakerTests.catalog
        .replacingOccurrences(
          of: #""kind": "brand", "cpm": "10.00","#, with: #""kind": "developer", "clickPrice": "1.00","#
        )
        .replacingOccurrences(
          of: #""kind": "cover", "destination": "https://acme.example/" }"#,
          with: #""kind": "leave", "destination": "https://store.example/id1?ref={click:shop}" }"#
        )
        .replacingOccurrences(
          of: #""apps": ["#,
          with: #"""
            "apps": [
              { "id": "shop", "developer": "yardley", "name": "Shop", "bundleID": "com.example.shop",
                "isAgreementSigned": true, "isUnder17": false, "areAdsEnabled": false },
            """#
        )
        .replacingOccurrences(
          of: #""appKeys": ["#,
          with: #""appKeys": [ { "app": "shop", "build": "distribution", "key": "shop-live-app-key" },"#)
    }

    /// With days that nobody who serves or tracks has a reason to look into.
    private static func network() async throws -> (TestNetwork, UnusableDays) {
      let network = try await TestNetwork.started(
        .init(
          services: ["ad-selection", "impression-tracking", "click-tracking", "billing", "console", "edge"],
          apps: ["chess", "shop"], catalog: catalog))
      let otherDays = try await onOwnThread {
        try network.awaitAllotments()
        return try UnusableDays(network)
      }
      return (network, otherDays)
    }

    private static func reference(_ destination: String) -> String? {
      URLComponents(string: destination)?.queryItems?.first { $0.name == "ref" }?.value
    }

    /// Has all partitions taken over, and one more ad seen behind that, with those days' tables unusable; then they are as
    /// others.
    @MainActor
    private static func takeOver(
      _ network: TestNetwork, beside days: UnusableDays, _ transport: AdTransport
    ) async throws {
      try await onOwnThread { try days.endOtherConnections() }
      let device = try OfflineDevice.client(nil, via: transport, key: "chess-live-app-key")
      try await OfflineDevice.see(device, placement: "home").stop()
      #expect(await device.close(timeoutMilliseconds: 20_000))
      try await onOwnThread {
        try network.awaitCount("SELECT coalesce(sum(events), 0)::bigint FROM billing.all_revenue", 3)
        try days.end()
      }
    }

    @Test(
      "M8, A8, D11: the store link's reference brings an install and purchases to the campaign, each once, with consent alone",
      arguments: GoldenDevices.Way.allCases)
    @MainActor
    func converted(way: GoldenDevices.Way) async throws {
      let (network, otherDays) = try await Self.network()
      defer { network.stop() }
      let transport: AdTransport =
        switch way {
        case .edge: .edge("http://127.0.0.1:\(network.edgePort)")
        case .kafka: .kafka(network.bootstrapServers, isEmbedded: network.isBrokerEmbedded)
        }
      let chess = try OfflineDevice.client(nil, via: transport, key: "chess-live-app-key")
      let banner = try await OfflineDevice.see(chess, placement: "home")
      let ad = try #require(banner.loadedAd)
      let reference = try #require(Self.reference(ad.action.destination))
      try await onOwnThread { Waiting.pause(milliseconds: 200) }
      banner.tap()
      banner.stop()

      var options = AdClientOptions()
      (options.country, options.storage, options.fetchesImages) = (Country("US"), .memory, false)
      let shop = try AdNetworkClient(app: "shop", key: "shop-live-app-key", via: transport, options: options)
      #expect(!shop.tell(AdConversion(.install), reference: reference, hasConsent: false) && shop.eventsWaiting == 0)
      #expect(!shop.tell(AdConversion(.purchase, value: Nanos(5)), reference: reference, hasConsent: true))
      for _ in 0..<3 { #expect(shop.tell(AdConversion(.install), reference: reference, hasConsent: true)) }
      let price = Nanos(4_990_000_000)
      for _ in 0..<2 {
        #expect(
          shop.tell(
            AdConversion(.purchase, value: price, currency: Currency("USD")), reference: reference, hasConsent: true))
      }
      let forged = String(reference.reversed())
      #expect(shop.tell(AdConversion(.install), reference: forged, hasConsent: true))
      #expect(chess.tell(AdConversion(.install), reference: reference, hasConsent: true), "that is the shop's to tell")
      #expect(await shop.close(timeoutMilliseconds: 20_000))
      #expect(await chess.close(timeoutMilliseconds: 20_000))
      try await onOwnThread {
        try network.awaitCount("SELECT count(*) FROM click_tracking.rejected", 2)
        // Its counts follow later, from the rows where nobody has them.
        let recent = "public.first_uuid_at('2026-01-01'), 'ffffffff-ffff-ffff-ffff-ffffffffffff'"
        try network.awaitCount("SELECT count(*) FROM billing.stored_charges(\(recent))", 2)
      }
      try await Self.takeOver(network, beside: otherDays, transport)
      try await onOwnThread {
        try network.awaitCount("SELECT coalesce(sum(conversions), 0)::bigint FROM reporting.conversion", 3)
        let report = try network.command(["report", "--conversions", "--json"]).output
        for part in [
          #""campaign": "launch""#, #""app": "chess""#, #""toldBy": "shop""#, #""conversions": 2"#, #""value": "9.98""#,
          #""kind": "install""#,
        ] { #expect(report.contains(part), "\(part): \(report)") }
        let story = try network.command(["explain", "\(ad.serveID)"]).output
        #expect(
          story.contains("App shop told of") && story.contains("a purchase (M8), worth USD 4.99 to its advertiser."),
          "\(story)")
        let rejected = try network.command(["rejected", "list"]).output
        #expect(rejected.contains("referenceForged") && rejected.contains("appKeyWrong"), "\(rejected)")
        #expect(try network.command(["reconcile"]).status == 0)
      }
    }
  }
}
