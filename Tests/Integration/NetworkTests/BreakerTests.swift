import AdClient
import AdClientKafka
import AdCore
import LocalProcesses
import Postgres
import TestValues
import Testing

extension WholeNetwork {
  /// The billing circuit breaker in the running network.
  @Suite struct BreakerTests {
    static let catalog = """
      {
        "settings": { "countries": ["US"], "testFillBasisPoints": 10000, "testErrorBasisPoints": 0 },
        "advertisers": [
          { "id": "acme", "name": "Acme", "currency": "USD", "timeZone": "UTC", "accountFunding": "1000000.00" }
        ],
        "campaigns": [
          { "id": "launch", "advertiser": "acme", "name": "Launch", "kind": "brand", "cpm": "10.00",
            "totalBudget": "1000000.00", "flightStart": "2020-01-01T00:00:00Z", "flightEnd": "2100-01-01T00:00:00Z" },
          { "id": "own", "advertiser": "acme", "name": "Own", "kind": "house", "totalBudget": "0.00",
            "flightStart": "2020-01-01T00:00:00Z", "flightEnd": "2100-01-01T00:00:00Z" }
        ],
        "ads": [
          { "id": "launch-1", "campaign": "launch", "action": { "kind": "cover", "destination": "https://acme.example/" },
            "images": { "320x50": "https://acme.example/p.png", "480x32": "https://acme.example/l.png" } },
          { "id": "own-1", "campaign": "own", "action": { "kind": "cover", "destination": "https://own.example/" },
            "images": { "320x50": "https://own.example/p.png", "480x32": "https://own.example/l.png" } }
        ],
        "developers": [ { "id": "yardley", "name": "Yardley" } ],
        "apps": [
          { "id": "chess", "developer": "yardley", "name": "Chess", "bundleID": "com.example.chess",
            "isAgreementSigned": true, "isUnder17": false, "areAdsEnabled": true }
        ],
        "appKeys": [
          { "app": "chess", "build": "distribution", "key": "chess-live-app-key" },
          { "app": "chess", "build": "developer", "key": "chess-test-app-key" }
        ]
      }
      """

    @Test("I6: a difference stops paid ads; house and test ads go on; it heals by itself when the difference is gone")
    func difference() async throws {
      let network = try await TestNetwork.started(
        .init(
          partitions: 2, apps: ["chess"], catalog: Self.catalog,
          settings: [
            "HANDBILL_RECONCILIATION_PASS_INTERVAL": "200ms", "HANDBILL_BREAKER_CLEAN_PASSES": "3",
            "HANDBILL_RECONCILIATION_INTERVAL": "60s",
          ]))
      defer { network.stop() }
      let devices = try AskingDevices(network)
      let asking = Task { try await devices.run() }
      defer { asking.cancel() }
      try await onOwnThread {
        let connection = try network.connection()
        defer { connection.close() }
        // Where there is none yet, requests get house ads although nobody stopped the paid ones.
        try network.awaitAllotments()
        try awaitDecision(network, .served, since: "'epoch'")
        let tampered: String = try connection.query("SELECT clock_timestamp()::text")[0].decode(0)
        try connection.executeScript(
          "INSERT INTO billing.balance VALUES (0, 'advertiser:nobody', 'USD', 1, 0)")
        // From here on the first house ad says that paid ads have stopped; before there was an allotment there were some.
        try awaitDecision(network, .servedHouse, since: "'\(tampered)'::timestamptz")
        let stopped: String = try connection.query("SELECT clock_timestamp()::text")[0].decode(0)
        try awaitDecision(network, .servedHouse, since: "timestamptz '\(stopped)' + interval '2 s'")
        try awaitDecision(network, .servedTest, since: "timestamptz '\(stopped)' + interval '2 s'")
        let paid: Int64 = try connection.query(
          """
          SELECT count(*) FROM ad_selection.decision
          WHERE reason = vocabulary.decision_reason('served') AND arrival > '\(stopped)'::timestamptz
          """)[0].decode(0)
        #expect(paid == 0)
        try awaitLog(network, "console", "the billing circuit breaker is open")
        try awaitLog(network, "ad-selection", "paid ads are stopped by the billing circuit breaker")

        try connection.executeScript("DELETE FROM billing.balance WHERE account = 'advertiser:nobody'")
        let mended: String = try connection.query("SELECT clock_timestamp()::text")[0].decode(0)
        try awaitDecision(network, .served, since: "'\(mended)'::timestamptz")
        try awaitLog(network, "ad-selection", "paid ads are served again")
      }
      asking.cancel()
      try await asking.value
    }

    /// Waits for a line of a log: a service writes it after it has acted by it.
    private func awaitLog(_ network: TestNetwork, _ service: String, _ message: String) throws {
      let isThere = Waiting.until { network.log(service).contains(message) }
      #expect(isThere, "\(network.log(service))")
    }

    /// Waits for a decision that arrived after a moment.
    private func awaitDecision(_ network: TestNetwork, _ reason: DecisionReason, since moment: String) throws {
      try network.awaitCondition(
        "EXISTS (SELECT FROM ad_selection.decision WHERE reason = \(reason.number) AND arrival > \(moment))")
    }
  }
}

/// Users of an app who come twenty times a second, one with its released build and one with a test build in turn: each sees a
/// banner's first ad, and leaves.
private actor AskingDevices {
  private let connection: KafkaConnection
  private var banners: [Banner] = []
  /// More than there are while each is looked at.
  private static let bannersMaximum = 100

  init(_ network: TestNetwork) throws {
    connection = try KafkaConnection(
      network.bootstrapServers, apps: ["chess"], isEmbedded: network.isBrokerEmbedded)
  }

  /// Until its task is cancelled.
  func run() async throws {
    var number = 0
    while !Task.isCancelled {
      number += 1
      var options = AdClientOptions()
      (options.clientID, options.country) = ("client-\(number)", Country("US"))
      (options.storage, options.fetchesImages) = (.none, false)
      let client = try AdNetworkClient(
        app: "chess", key: number.isMultiple(of: 2) ? "chess-live-app-key" : "chess-test-app-key",
        via: connection.transport, options: options)
      let banner = try Banner(client: client, placement: "home")
      banner.handler = { [weak banner] event in
        switch event {
        case .show: banner?.visibleFractionChanged(to: 1)
        case .paid: banner?.stop()
        default: break
        }
      }
      banners.append(banner)
      if banners.count > Self.bannersMaximum { banners.removeFirst().stop() }
      try? await Task.sleep(for: .milliseconds(50))
    }
    for banner in banners { banner.stop() }
    _ = await connection.close(timeoutMilliseconds: 2_000)
  }
}
