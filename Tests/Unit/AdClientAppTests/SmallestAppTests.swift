import AdClient
import Foundation
import Testing

/// What an app sees: one import, no `@testable`, and none of the server's names.
@MainActor
@Suite("An app with one import")
struct SmallestAppTests {
  private func client(
    _ network: InMemoryNetwork = InMemoryNetwork(), storage: AdStorage = .memory
  ) throws -> AdNetworkClient {
    var options = AdClientOptions()
    options.storage = storage
    options.country = Country("DE")
    return try AdNetworkClient(app: "chess", key: "key", via: .inMemory(network), options: options)
  }

  @Test("The first screen of the guide shows an ad")
  func readme() async throws {
    let screen = try HomeScreen(ads: client())
    for await event in screen.banner.events {
      if case .show(let ad, let size) = event { #expect(ad.images[size]?.hasPrefix("data:image") == true) }
      if event == .told(.didLoad) { break }
    }
    #expect(screen.isBannerVisible && screen.banner.isLoaded)
  }

  @Test("E: an error carries code, sentence, request and when to try again, for Swift and for Foundation")
  func errors() async throws {
    var behaviour = InMemoryNetwork.Behaviour()
    behaviour.nextErrors = [.configurationError]
    let screen = try HomeScreen(ads: client(InMemoryNetwork(behaviour)))
    for await event in screen.banner.events {
      guard case .told(.didFail(let failure)) = event else { continue }
      #expect(failure.code == .configurationError && failure.code.rawValue == 4)
      #expect(failure.detail == "as the test wants it" && failure.requestID != nil)
      #expect(failure.retryAfterMilliseconds == 30_000)
      #expect(failure.localizedDescription.contains("as the test wants it"))
      #expect(AdFailure.errorDomain == "org.handbill.ads" && failure.errorCode == 4)
      #expect(failure.recoverySuggestion == "try again in 30 s")
      break
    }
    #expect(!screen.isBannerVisible)
  }

  @Test("M8: an app tells what came of ads for it, with consent and a reference alone, and its tests see it")
  func conversions() throws {
    let network = InMemoryNetwork()
    let ads = try client(network)
    let purchase = AdConversion(.purchase, value: Nanos(4_990_000_000), currency: Currency("USD"))
    #expect(ads.tell(AdConversion(.install), reference: "a-reference", hasConsent: true))
    #expect(ads.tell(purchase, reference: "a-reference", hasConsent: true))
    #expect(!ads.tell(AdConversion(.install), reference: "a-reference", hasConsent: false))
    for none in ["", String(repeating: "r", count: 129)] {
      #expect(!ads.tell(AdConversion(.install), reference: none, hasConsent: true))
    }
    #expect(!ads.tell(AdConversion(.purchase, value: Nanos(5)), reference: "a-reference", hasConsent: true))
    #expect(
      !ads.tell(AdConversion(.purchase, value: Nanos(-5), currency: Currency("USD")), reference: "a", hasConsent: true))
    #expect(network.conversions == [AdConversion(.install), purchase] && network.told.isEmpty)
  }

  @Test("An object of another actor tells that one, and asks it (D7, D13)")
  func otherActor() async throws {
    let client = try client()
    let device = VirtualDevice()
    let seen = try await device.watch(client)
    #expect(seen == ["willLoad", "didLoad", "asked", "false"])
  }

  @Test(
    "Events wait for a network that nobody reaches, and errors and connection say why",
    arguments: [AdStorage.memory, .none])
  func unreachable(storage: AdStorage) async throws {
    var behaviour = InMemoryNetwork.Behaviour()
    behaviour.isReachable = false
    let network = InMemoryNetwork(behaviour)
    let client = try client(network, storage: storage)
    let screen = try HomeScreen(ads: client)
    for await event in screen.banner.events {
      guard case .told(.didFail(let failure)) = event else { continue }
      #expect(failure.code == .serverFailure && failure.detail == "the network in memory is not reachable")
      break
    }
    #expect(client.connection.problem?.kind == .unreachable)
    #expect(client.eventsWaiting == 1, "M6: the failure is told when there is somebody to tell")
    #expect(client.inspector.text.contains("; 1 events wait\n"))
    network.behaviour.isReachable = true
    #expect(client.eventsWaiting == 0)
    #expect(network.told.last == .failed(.serverFailure))
    #expect(await client.close())
  }

  @Test("Fill and delays are as the test sets them")
  func behaviour() async throws {
    var behaviour = InMemoryNetwork.Behaviour()
    behaviour.fillPercent = 0
    behaviour.delayMilliseconds = 5
    let screen = try HomeScreen(ads: client(InMemoryNetwork(behaviour)))
    for await event in screen.banner.events {
      guard case .told(.didFail(let failure)) = event else { continue }
      #expect(failure.code == .inventoryUnavailable)
      break
    }
  }
}

/// Somebody without a main actor, such as one of ten thousand simulated devices.
private actor VirtualDevice {
  private var seen: [String] = []

  func watch(_ client: AdNetworkClient) async throws -> [String] {
    let banner = try Banner(client: client, placement: "home")
    banner.handler = { [unowned self] event in
      assumeIsolated { device in
        if case .told(let callback) = event { device.seen.append("\(callback)") }
      }
    }
    banner.shouldBeginAction = { [unowned self] _ in
      assumeIsolated { $0.seen.append("asked") }
      return false
    }
    for await event in banner.events where event == .told(.didLoad) { break }
    banner.visibleFractionChanged(to: 1)
    banner.tap()
    seen.append("\(banner.isActionInProgress)")
    return seen
  }
}
