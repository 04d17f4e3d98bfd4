import AdCore
import AdEvents
import Foundation
import LocalProcesses
import Postgres
import Runtime
import TestValues

/// All services and the console, with a catalogue of some breadth: 16 apps, 10 advertisers, 50 campaigns with two ads
/// each, all for everybody. They stay from round to round, as in a network that serves.
struct ChainNetwork {
  static let appCount = 16
  private static let campaignCount = 50
  private static let advertiserCount = 10

  let surroundings: Surroundings
  let services: [(name: String, process: ChildProcess)]

  static func start(_ surroundings: Surroundings) throws -> ChainNetwork {
    let file = surroundings.folder.path + "/chain-catalog.json"
    try catalog.write(toFile: file, atomically: true, encoding: .utf8)
    for app in apps {
      try surroundings.command(["topics", "create", "-p", "\(Surroundings.partitions)", "--app", app.text])
    }
    try surroundings.command(["catalog", "apply", file])
    let names = [
      "handbill-ad-selection", "handbill-impression-tracking", "handbill-click-tracking", "handbill-billing",
      "handbill-console",
    ]
    let ports = try FreePort.find(count: names.count + 1)
    let services = try zip(names, ports).map { name, port in
      (
        name,
        try surroundings.service(
          name, adminPort: port, settings: ["HANDBILL_CONSOLE_PORT": "\(ports[names.count])"])
      )
    }
    for (name, port) in zip(names, ports) { try surroundings.awaitReadiness(name, adminPort: port) }
    return ChainNetwork(surroundings: surroundings, services: services)
  }

  func stop() {
    for service in services.reversed() { service.process.terminate(graceMilliseconds: 10_000) }
  }

  static let apps: [AppID] = (0..<appCount).map { known(AppID("chain-app-\($0)")) }

  static func key(of app: Int) -> String { "chain-distribution-key-\(app)" }

  private static var catalog: String {
    func list(_ count: Int, _ text: (Int) -> String) -> String {
      "[\n" + (0..<count).map { "    " + text($0) }.joined(separator: ",\n") + "\n  ]"
    }
    return """
      {
        "settings": { "countries": ["US", "FR", "JP", "DE", "GB"] },
        "advertisers": \(list(advertiserCount) {
          """
          { "id": "adv-\($0)", "name": "Advertiser \($0)", "currency": "USD", "timeZone": "UTC", "accountFunding": "1000000000.00" }
          """
        }),
        "campaigns": \(list(campaignCount) {
          """
          { "id": "camp-\($0)", "advertiser": "adv-\($0 % advertiserCount)", "name": "Campaign \($0)", "kind": "brand", "cpm": "10.00", "clickPrice": "2.00", "totalBudget": "100000000.00", "flightStart": "2020-01-01T00:00:00Z", "flightEnd": "2100-01-01T00:00:00Z" }
          """
        }),
        "ads": \(list(2 * campaignCount) {
          """
          { "id": "ad-\($0)", "campaign": "camp-\($0 / 2)", "action": { "kind": "cover", "destination": "https://shop.example/\($0)" }, "images": { "320x50": "https://images.example/\($0)/p.png", "480x32": "https://images.example/\($0)/l.png" } }
          """
        }),
        "developers": [ { "id": "dev-0", "name": "Dev 0" }, { "id": "dev-1", "name": "Dev 1" } ],
        "apps": \(list(appCount) {
          """
          { "id": "chain-app-\($0)", "developer": "dev-\($0 % 2)", "name": "App \($0)", "bundleID": "com.example.app\($0)", "isAgreementSigned": true, "isUnder17": false, "areAdsEnabled": true }
          """
        }),
        "appKeys": \(list(appCount) {
          """
          { "app": "chain-app-\($0)", "build": "distribution", "key": "\(key(of: $0))" }
          """
        })
      }
      """
  }

  /// Impressions and clicks that billing has consumed.
  struct Billed: Equatable {
    var impressions: Int64
    var clicks: Int64
  }

  /// As its tables say; they are asked for a row for each partition, so that looking costs nothing.
  func billed(_ connection: PostgresConnection) throws -> Billed {
    let row = try connection.query(
      """
      SELECT coalesce(sum(consumed_sequence) FILTER (WHERE topic = $1), 0)::bigint,
        coalesce(sum(consumed_sequence) FILTER (WHERE topic = $2), 0)::bigint
      FROM billing.input
      """, [Topic.acceptedImpressions.name, Topic.acceptedClicks.name])[0]
    return Billed(impressions: try row.decode(0), clicks: try row.decode(1))
  }

  /// Waits until billing has consumed as much.
  func await(_ billed: Billed, _ connection: PostgresConnection) throws {
    var last = Billed(impressions: 0, clicks: 0)
    let isDone = try Waiting.until(seconds: 300) {
      last = try self.billed(connection)
      return last.impressions >= billed.impressions && last.clicks >= billed.clicks
    }
    guard isDone else {
      throw SupervisionError.unavailable(
        what: "the charge of \(billed.impressions) impressions and \(billed.clicks) clicks",
        hint: "after 300 s billing had consumed \(last.impressions) and \(last.clicks)")
    }
  }
}
