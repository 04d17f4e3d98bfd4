import AdClient
import Foundation
import LocalProcesses
import TestValues
import Testing

extension WholeNetwork {
  /// An app that blocks the actions of ads, in a whole network.
  @Suite struct StandingNetworkTests {
    /// The golden case's, of a network that lowers at once, to nothing.
    private static var catalog: String {
      GoldenCaseTests.catalog.replacingOccurrences(
        of: #""settings": {"#,
        with: #"""
          "settings": { "standing": { "days": 1, "priorTaps": 0, "toleratedBasisPoints": 0, "floorBasisPoints": 0 },
          """#)
    }

    @Test(
      "A7, D7: an app that blocks every action is offered nothing more, is told so, and so are those who look; then it recovers"
    )
    @MainActor
    func lowered() async throws {
      let network = try await TestNetwork.started(
        .init(
          services: ["ad-selection", "impression-tracking", "click-tracking", "billing", "console", "edge"],
          apps: ["chess"], catalog: Self.catalog, settings: ["HANDBILL_STANDING_INTERVAL": "1s"]))
      defer { network.stop() }
      try await onOwnThread { try network.awaitAllotments() }
      let client = try OfflineDevice.client(nil, via: .edge("http://127.0.0.1:\(network.edgePort)"))
      let banner = try await OfflineDevice.see(client, placement: "home")
      banner.shouldBeginAction = { _ in false }
      banner.tap()
      banner.tap()
      banner.stop()
      try await onOwnThread {
        try network.awaitCount("SELECT count(*) FROM click_tracking.stopped_action", 2)
        try network.awaitCondition("EXISTS (SELECT FROM reporting.app_standing WHERE offered_percent = 0)")
        try network.awaitCondition("(SELECT tapped = 1 AND stopped = 1 FROM reporting.app_standing)")
      }
      // Until ad selection has heard of it there are ads; each asks once, or it would be throttled.
      var failure: AdFailure?
      for _ in 1...60 where failure == nil {
        let another = try OfflineDevice.client(nil, via: .edge("http://127.0.0.1:\(network.edgePort)"))
        failure = try await OfflineDevice.failure(another, placement: "home")
        await another.close(timeoutMilliseconds: 5_000)
        try await onOwnThread { Waiting.pause(milliseconds: 200) }
      }
      let lowered = try #require(failure)
      #expect(lowered.code == .inventoryUnavailable && lowered.detail.hasPrefix("A7: the app stops many actions"))
      let request = try #require(lowered.requestID)
      try await onOwnThread {
        let story = try network.command(["explain", "\(request)"]).output
        for part in [
          "paid ads were withheld from it, since its app stops many actions of ads (A7)",
          "The app was offered paid ads for 0.00 % of its requests",
          "of 1 ads that were tapped it had stopped the action of 1",
        ] { #expect(story.contains(part), "\(story)") }
        let report = try network.command(["report", "--group", "app"]).output
        #expect(report.contains("chess is offered paid ads for 0.00 % of its requests since"), "\(report)")
        let check = try network.command(["app", "check", "chess", "--json"], accepting: [0, 1]).output
        #expect(check.contains("paid ads for 0.00 % of its requests: of 1 ads"), "\(check)")
        try network.command(["catalog", "set", "settings", "standing.floorBasisPoints=10000"])
        try network.awaitCount("SELECT count(*) FROM reporting.app_standing", 0)
        // Held again, each auction comes to the same.
        let again = try network.command(["whatif", "--from", "2020-01-01", "--json"]).output
        #expect(again.contains(#""different": 0"#), "\(again)")
      }
      #expect(await client.close(timeoutMilliseconds: 20_000))
    }
  }
}
