import AdClient
import AdClientKafka
import Foundation
import LocalProcesses
import Runtime
import TestValues
import Threads

/// The devices of the golden case: a client and a banner each, used as an app uses them. All ask once; of the ads that
/// come, so many are looked at for a second, and so many of those are tapped and their action is looked at for two.
@MainActor
final class GoldenDevices {
  enum Way: CaseIterable, Sendable {
    case kafka
    case edge
  }

  struct Wanted: Sendable {
    let requests: Int
    let impressions: Int
    let clicks: Int

    /// So many nearly equal parts of all of it.
    func shares(_ count: Int) -> [Wanted] {
      (0..<count).map { index in
        func share(_ whole: Int) -> Int { whole / count + (index < whole % count ? 1 : 0) }
        return Wanted(requests: share(requests), impressions: share(impressions), clicks: share(clicks))
      }
    }
  }

  /// What the network has.
  private struct Told: Hashable, Sendable {
    var requests = 0
    var impressions = 0
    var clicks = 0

    func isAll(_ wanted: Wanted) -> Bool {
      (requests, impressions, clicks) == (wanted.requests, wanted.impressions, wanted.clicks)
    }
  }

  struct TooFew: Error { let shown: Int }

  private let way: Way
  private let key: String
  private let wanted: Wanted
  private let transport: AdTransport
  private let kafka: KafkaConnection?
  private let told = Monitor(Told())
  private var banners: [Int: Banner] = [:]
  private var asked = 0
  private var answered = 0
  private var shown = 0
  /// Seen, and to be tapped after the next look of the thumb, and after this one.
  private var seen: (soon: [Int], now: [Int]) = ([], [])
  private var tapped = 0
  private let thumb = StopRequest()

  /// So many ask at the same time.
  private static let askingMaximum = 2_000
  private nonisolated static let thumbMilliseconds = 150

  init(_ way: Way, _ network: TestNetwork, key: String, wanted: Wanted) throws {
    self.way = way
    self.key = key
    self.wanted = wanted
    switch way {
    case .edge:
      kafka = nil
      transport = .edge("http://127.0.0.1:\(network.edgePort)")
    case .kafka:
      let kafka = try KafkaConnection(
        network.bootstrapServers, apps: ["chess"], isEmbedded: network.isBrokerEmbedded,
        requestDeadlineMilliseconds: 60_000)
      transport = kafka.transport
      self.kafka = kafka
    }
  }

  /// Ends when the network has everything.
  func run() async throws {
    let thread = OwnerThread("thumb") { [thumb] in
      while !thumb.wait(milliseconds: Self.thumbMilliseconds) { Task { @MainActor in self.tap() } }
    }
    for _ in 0..<min(Self.askingMaximum, wanted.requests) { try ask() }
    let (told, wanted) = (told, wanted)
    let isWhole = try await onOwnThread {
      // However long it takes, as long as it goes on.
      var before: Told?
      while !told.wait(timeoutMilliseconds: Waiting.seconds * 1_000, until: { $0.isAll(wanted) }) {
        let now = told.withLock { $0 }
        guard now != before else { return false }
        before = now
      }
      return true
    }
    thumb.make()
    try await onOwnThread { thread.join() }
    banners.removeAll()
    await kafka?.close()
    guard isWhole else { throw TooFew(shown: shown) }
  }

  private func ask() throws {
    asked += 1
    let number = asked
    var options = AdClientOptions()
    options.clientID = "\(way)-\(number)"
    options.country = Country("US")
    options.storage = .none
    options.fetchesImages = false
    options.requestDeadlineMilliseconds = 60_000
    let client = try AdNetworkClient(app: "chess", key: key, via: transport, options: options) { [told] fact in
      told.update { told in
        switch fact {
        case .request: told.requests += 1
        case .told(.viewed, _, _, _, _): told.impressions += 1
        case .told(.click, _, _, _, _):
          told.clicks += 1
          Task { @MainActor in self.end(number) }
        case .told, .failed, .converted: break
        }
      }
    }
    let banner = try Banner(client: client, placement: "home")
    banner.handler = { [weak self] in self?.heard($0, number) }
    banners[number] = banner
  }

  private func heard(_ event: BannerEvent, _ number: Int) {
    switch event {
    case .told(.didLoad) where shown < wanted.impressions:
      shown += 1
      banners[number]?.visibleFractionChanged(to: 1)
      nextAsks()
    case .told(.didLoad), .told(.didFail):
      end(number)
      nextAsks()
    case .paid where seen.soon.count + seen.now.count + tapped < wanted.clicks: seen.soon.append(number)
    case .paid: end(number)
    default: break
    }
  }

  private func nextAsks() {
    answered += 1
    while asked < wanted.requests, asked - answered < Self.askingMaximum { try? ask() }
  }

  private func tap() {
    for number in seen.now {
      tapped += 1
      banners[number]?.tap()
    }
    seen = ([], seen.soon)
  }

  private func end(_ number: Int) { banners.removeValue(forKey: number)?.stop() }
}
