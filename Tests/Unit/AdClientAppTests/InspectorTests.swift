import AdClient
import Testing

@MainActor
@Suite("What an app's developer looks at")
struct InspectorTests {
  private func client(_ network: InMemoryNetwork, _ clock: AdTestClock) throws -> AdNetworkClient {
    var options = AdClientOptions()
    options.storage = .memory
    options.country = Country("DE")
    options.clientID = "0123456789abcdef"
    options.testClock = clock
    return try AdNetworkClient(app: "chess", key: "key", via: .inMemory(network), options: options)
  }

  @Test("The inspector says what was asked, answered, seen and tapped, when, and what to name to the network's support")
  func ad() async throws {
    let clock = AdTestClock()
    let client = try client(InMemoryNetwork(), clock)
    #expect(client.inspector.text.contains("nothing was asked yet"))
    let banner = try Banner(client: client, placement: "home")
    for await event in banner.events where event == .told(.didLoad) { break }
    let ad = try #require(banner.loadedAd)
    banner.visibleFractionChanged(to: 1)
    clock.advance(byMilliseconds: 1_000)
    for await event in banner.events {
      if case .paid = event { break }
    }
    banner.shouldBeginAction = { _ in false }
    banner.tap()
    let text = client.inspector.text
    #expect(text.hasPrefix("app chess, phone, country DE, client 01234567…\nconnected; 0 events wait\n"))
    for line in [
      "home (banner", "handbill explain \(ad.requestID)", "handbill explain \(ad.serveID)", "a test ad, brings nothing",
      "willLoad", "didLoad", "it came on screen", "it was seen: an impression (M1)", "a tap that the app refused (D7)",
    ] { #expect(text.contains(line), "\(text)") }
    #expect(!text.contains("0123456789"), "a client id is shown to nobody")
  }

  @Test("It says why there is no ad, and when it will be tried again")
  func noAd() async throws {
    var behaviour = InMemoryNetwork.Behaviour()
    behaviour.nextErrors = [.configurationError]
    let client = try client(InMemoryNetwork(behaviour), AdTestClock())
    let banner = try Banner(client: client, placement: "home")
    for await event in banner.events {
      if case .told(.didFail) = event { break }
    }
    let text = client.inspector.text
    #expect(text.contains("no ad: error 4, configurationError: as the test wants it; try again in 30 s"), "\(text)")
  }

  @Test("D2, D5: with a test's clock a refresh and an expiry need no waiting")
  func clock() async throws {
    let clock = AdTestClock()
    let network = InMemoryNetwork()
    let banner = try Banner(client: client(network, clock), placement: "home")
    for await event in banner.events where event == .told(.didLoad) { break }
    banner.visibleFractionChanged(to: 1)
    clock.advance(byMilliseconds: 30_000)
    for await event in banner.events where event == .told(.didLoad) { break }
    #expect(network.requested.count == 2)
    #expect(network.told.contains(.viewed))
    banner.visibleFractionChanged(to: 0, userNavigated: true)
    clock.advance(byMilliseconds: 900_000)
    for await event in banner.events {
      if case .told(.didFail(let failure)) = event {
        #expect(failure.code == .adUnloaded)
        break
      }
    }
  }

  @Test("A8: a server's own client id is told; one that is too long is refused")
  func ownClientID() throws {
    let client = try client(InMemoryNetwork(), AdTestClock())
    #expect(client.identity.clientID == "0123456789abcdef")
    var options = AdClientOptions()
    options.country = Country("DE")
    for id in ["", String(repeating: "x", count: 129)] {
      options.clientID = id
      #expect(throws: AdFailure.self) {
        try AdNetworkClient(app: "chess", key: "key", via: .inMemory(), options: options)
      }
    }
  }
}
