import AdClient
import ExampleTerminal

@testable import ExampleGame
@testable import ExampleMagazine

/// A sample program as its user has it: a screen and keys.
@MainActor
protocol Sample: TerminalProgram {
  var ads: AdNetworkClient { get }
  var banner: Banner { get }
  var fullScreenAd: Interstitial? { get }
  var isPaused: Bool { get }
  /// Comes to where the full-screen ad stands.
  func openFullScreenAd()
  /// Goes on from there.
  func leaveFullScreenAd()
  /// Another screen that has the banner.
  func openOtherScreen()

  init(ads: AdNetworkClient) throws
}

extension Game: Sample {
  var fullScreenAd: Interstitial? { between }

  func openFullScreenAd() {
    press("n")
    while !screen.contains("new game"), !screen.contains("x: close") { press("3") }
  }

  func leaveFullScreenAd() { press("x") }
  func openOtherScreen() { press("n") }
}

extension Magazine: Sample {
  var fullScreenAd: Interstitial? { page }
  func openFullScreenAd() { while number < 2 { press("n") } }
  func leaveFullScreenAd() { press("n") }
  func openOtherScreen() { press("n") }
}

enum SampleKind: CaseIterable, Sendable {
  case game
  case magazine
}

/// A sample over a network within the process, whose time the test moves.
@MainActor
struct RunningSample {
  let app: any Sample
  let network: InMemoryNetwork
  let clock: AdTestClock

  init(_ kind: SampleKind, _ behaviour: InMemoryNetwork.Behaviour = InMemoryNetwork.Behaviour()) throws {
    network = InMemoryNetwork(behaviour)
    clock = AdTestClock()
    var options = AdClientOptions()
    options.device = .pad
    options.country = Country("DE")
    options.storage = .memory
    options.testClock = clock
    let ads = try AdNetworkClient(app: "sample", key: "key", via: .inMemory(network), options: options)
    app = kind == .game ? try Game(ads: ads) : try Magazine(ads: ads)
  }

  /// With the banner's ad there, or its failure.
  func withBanner() async -> RunningSample {
    for await event in app.banner.events {
      switch event {
      case .told(.didLoad), .told(.didFail): return self
      default: break
      }
    }
    return self
  }

  /// With the full-screen ad loaded.
  func withFullScreenAd() async -> RunningSample {
    guard let ad = app.fullScreenAd, !ad.isLoaded else { return self }
    for await event in ad.events where event == .told(.didLoad) { break }
    return self
  }

  func count(_ told: AdHappening) -> Int { network.told.count { $0 == told } }

  var cancelledCount: Int { network.told.count { if case .cancelled = $0 { true } else { false } } }

  /// How often an ad was asked for in the banner's place.
  var bannerRequestCount: Int { network.requested.count { $0 == app.banner.placement } }
}
