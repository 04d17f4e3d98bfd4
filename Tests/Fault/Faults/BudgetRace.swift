import AdClient
import AdClientKafka
import AdCore
import AdEvents
import Foundation
import Postgres
import Runtime
import Synchronization
import TestServers
import TestValues
import Threads

/// A budget for exactly so many impressions, sold by four processes of ad selection on sixteen partitions to a hundred
/// times as many requests; every ad is viewed, many things happen twice, and services are killed. What is charged in
/// the end is the budget: not one impression more, and not one less.
struct BudgetRace: Fault {
  let name = "budget-race"
  let summary = "budget for K impressions, 16 partitions, 4 ad selections, 100 K requests, duplicates, kills"
  let invariants = ["I2", "I3", "I5", "I6"]
  let bringsDevices = true
  let needs = NetworkNeeds(
    partitions: 16,
    settings: [
      "HANDBILL_BANNER_TOKEN_LIFE": "4s", "HANDBILL_INTERSTITIAL_TOKEN_EXTRA": "0s", "HANDBILL_VIEW_TIME": "100ms",
      "HANDBILL_CONTENT_LIFE_MINIMUM": "1s", "HANDBILL_CONTENT_LIFE_MAXIMUM": "4s",
      "HANDBILL_TAP_DELAY_MAXIMUM": "1s", "HANDBILL_ALLOTMENT_QUIET": "3s", "HANDBILL_ALLOTMENT_USUAL": "3s",
      "HANDBILL_ALLOTMENT_SCARCE": "2s", "HANDBILL_ALLOTMENT_END_MARGIN": "1s",
    ], selections: 4, isUsedUp: true)

  private static let impressions = 60...120
  private static let requestsPerImpression = 100
  private static let kills = 6
  private static let soldMilliseconds: Int64 = 240_000
  private static let endMilliseconds: Int64 = 90_000

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let wanted = chance.number(Self.impressions)
    try applyCatalog(impressions: wanted, in: network)
    let startedAt = SystemClock().now
    let buyers = try RaceBuyers(network, requests: wanted * Self.requestsPerImpression)
    buyers.start()
    defer { buyers.stop() }
    for _ in 0..<Self.kills {
      network.pause(milliseconds: chance.number(1_000...5_000))
      let services = network.deciders
      services[chance.number(0...services.count - 1)].kill()
    }
    // What an ad that nobody got to see had reserved comes back late: somebody must still be there to buy it.
    try network.wait("\(wanted) impressions to be charged", milliseconds: Self.soldMilliseconds) {
      try buyers.requests >= wanted * Self.requestsPerImpression && RaceAccounts(network).charged >= wanted
    }
    try buyers.finish(timeoutMilliseconds: 60_000)
    try network.keepTally(startedAt: startedAt, requests: buyers.requests, viewed: buyers.viewed)
    try network.wait(
      "\(wanted) impressions to be charged and all allotments to end", milliseconds: Self.endMilliseconds
    ) {
      try RaceAccounts(network).isEnded
    }
    let accounts = try RaceAccounts(network)
    network.note(
      "budget for \(wanted), \(buyers.requests) requests: \(accounts.charged) charged, \(accounts.unfunded) unfunded, "
        + "\(accounts.late) late; \(buyers.viewed) ads viewed, with those of others")
    guard accounts.charged == wanted else { throw FaultFailure("\(accounts.charged) charged in place of \(wanted)") }
  }

  private func applyCatalog(impressions: Int, in network: FaultNetwork) throws {
    // 100.00 for a thousand: one impression costs 0.10.
    let cents = impressions * 10
    let budget = "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)"
    let catalog = """
      {
        "advertisers": [
          { "id": "race", "name": "Race", "currency": "USD", "timeZone": "UTC", "accountFunding": "1000000.00" } ],
        "campaigns": [
          { "id": "race", "advertiser": "race", "name": "Race", "kind": "brand", "cpm": "100.00",
            "totalBudget": "\(budget)", "flightStart": "2020-01-01T00:00:00Z", "flightEnd": "2100-01-01T00:00:00Z",
            "targeting": { "appCategories": ["race"] } } ],
        "ads": [
          { "id": "race-1", "campaign": "race", "action": { "kind": "cover", "destination": "https://race.example/" },
            "images": { "320x50": "https://race.example/p.png", "480x32": "https://race.example/l.png" } } ],
        "developers": [ { "id": "race", "name": "Race" } ],
        "apps": [
          { "id": "race", "developer": "race", "name": "Race", "bundleID": "com.example.race",
            "isAgreementSigned": true, "isUnder17": false, "areAdsEnabled": true, "categories": ["race"] } ],
        "appKeys": [ { "app": "race", "build": "distribution", "key": "\(RaceBuyers.appKey)" } ]
      }
      """
    let file = "\(network.path)/race.json"
    try catalog.write(toFile: file, atomically: true, encoding: .utf8)
    try network.command(["topics", "create", "-p", "\(network.needs.partitions)", "--app", RaceBuyers.app])
    try network.command(["catalog", "apply", file])
    // The catalogue is published within seconds; a request before that only finds no ad.
    network.pause(milliseconds: 3_000)
  }
}

/// What became of the race's budget.
struct RaceAccounts {
  let charged: Int64
  let unfunded: Int64
  let late: Int64
  /// Whether no allotment of the race is open any more, so that what was charged cannot change by what is there.
  let isEnded: Bool

  init(_ network: FaultNetwork) throws {
    let connection = try network.connection()
    defer { connection.close() }
    let sql = """
      SELECT count(*) FILTER (WHERE fate = vocabulary.charge_fate('charged')),
        count(*) FILTER (WHERE fate = vocabulary.charge_fate('unfunded')),
        count(*) FILTER (WHERE fate = vocabulary.charge_fate('late')),
        (SELECT count(*) FROM billing.allotment
          WHERE campaign = 'race' AND state < vocabulary.allotment_state('ended')),
        (SELECT charged = funded FROM treasury.campaign WHERE campaign = 'race')
      FROM billing.charge WHERE campaign = 'race'
      """
    guard let row = try connection.query(sql).first else { throw FaultFailure("no accounts of the race") }
    charged = try row.decode(0)
    unfunded = try row.decode(1)
    late = try row.decode(2)
    isEnded = try row.decode(3, Int64.self) == 0 && row.decode(4, Bool?.self) == true
  }
}

/// Devices that ask for ads until they are told to stop, one request each, and whose users see every ad they get; a third tells
/// everything twice.
final class RaceBuyers: Sendable {
  static let app = "race"
  static let appKey = "race-distribution-key"
  private static let perSecond = 250

  /// So many requests are made fast, and then one now and then.
  private let fast: Int
  private let asked = Mutex(0)
  private let transport: KafkaTransport
  private let devices = FaultDevices()
  /// Devices without an end yet.
  private let open = Monitor(0)
  private let views = Mutex(0)
  private let stopping = StopRequest()
  private let thread = Mutex<OwnerThread?>(nil)

  /// How many requests they have made.
  var requests: Int { asked.withLock { $0 } }

  /// Ads that were seen, each counted once; some were of others, once the race's budget was gone.
  var viewed: Int { views.withLock { $0 } }

  init(_ network: FaultNetwork, requests: Int) throws {
    guard let app = AppID(Self.app) else { throw FaultFailure("the race's app is none") }
    fast = requests
    var settings = KafkaTransportSettings(bootstrapServers: network.kafka.bootstrapServers, apps: [app])
    settings.askAgainMilliseconds = 1_000
    settings.deadlineMilliseconds = 30_000
    transport = KafkaTransport(settings: settings)
  }

  /// Begins to ask, evenly.
  func start() {
    let thread = OwnerThread("buyers") { [self] in
      while !stopping.isRequested {
        let number = asked.withLock { asked in
          defer { asked += 1 }
          return asked
        }
        open.update { $0 += 1 }
        Task { @FaultActor in begin(number) }
        if number >= fast || number % 25 == 24 { stopping.wait(milliseconds: 25_000 / Self.perSecond) }
      }
    }
    self.thread.withLock { $0 = thread }
  }

  /// Asks no more, and waits until every device has its end and the broker has every view.
  func finish(timeoutMilliseconds: Int) throws {
    stopping.make()
    thread.withLock { $0 }?.join()
    guard open.wait(timeoutMilliseconds: timeoutMilliseconds, until: { $0 == 0 }),
      transport.close(timeoutMilliseconds: 30_000)
    else { throw FaultFailure("not every request of the race was answered") }
  }

  /// Ends early.
  func stop() {
    stopping.make()
    thread.withLock { $0 }?.join()
    _ = transport.close(timeoutMilliseconds: 1_000)
  }

  @FaultActor
  private func begin(_ number: Int) {
    let way: any NetworkTransport = number % 3 == 0 ? Twice(inner: transport) : transport
    let place = FaultDevice.Place(app: Self.app, key: Self.appKey, placement: "home")
    devices.add(place, client: "buyer-\(number)", via: AdTransport { _ in way }, isShown: true) { [self] ad in
      if ad != nil { views.withLock { $0 += 1 } }
      open.update { $0 -= 1 }
    }
  }

  /// A way on which every event goes twice.
  private struct Twice: NetworkTransport {
    let inner: KafkaTransport

    func send(
      _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
      completion: @escaping @Sendable (RequestResult) -> Void
    ) { inner.send(request, acknowledged: acknowledged, completion: completion) }

    func send(_ event: OutgoingEvent, ended: @escaping @Sendable (EventEnd) -> Void) -> Bool {
      inner.send(event, ended: ended) && inner.send(event) { _ in }
    }
  }
}
