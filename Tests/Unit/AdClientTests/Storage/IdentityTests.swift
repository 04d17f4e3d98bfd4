import AdBasics
import Foundation
import LocalProcesses
import Testing

@testable import AdClient

@Suite("A8: the identity that is made for an app")
struct IdentityTests {
  private func client(_ folder: TemporaryFolder, limits: Bool = false) throws -> AdNetworkClient {
    var options = AdClientOptions()
    options.storage = folder.storage
    options.limitsTracking = limits
    options.country = Country("DE")
    return try AdNetworkClient(app: sampleApp, key: "key", via: .inMemory(), options: options)
  }

  @Test("A client id is made, kept over the processes, and reset; the session's is another each time")
  func kept() throws {
    let folder = try TemporaryFolder()
    let first = try client(folder).identity
    let again = try client(folder)
    #expect(first.clientID != nil && again.identity.clientID == first.clientID)
    #expect(again.identity.sessionID != first.sessionID)
    again.resetClientID()
    let reset = again.identity.clientID
    #expect(reset != nil && reset != first.clientID)
  }

  @Test("Under limited tracking there is none, and the old one is forgotten")
  func limited() throws {
    let folder = try TemporaryFolder()
    let first = try client(folder).identity.clientID
    #expect(try client(folder, limits: true).identity.clientID == nil)
    let later = try client(folder)
    #expect(later.identity.clientID != nil && later.identity.clientID != first)
    later.setLimitsTracking(true)
    #expect(later.identity.clientID == nil)
    later.resetClientID()
    #expect(later.identity.clientID == nil, "a reset makes no id for whoever wants none")
    #expect(later.identity.partitionKey == later.identity.sessionID)
  }

  @Test("An ad's events go under the id that it was served to, also after a reset")
  @MainActor
  func eventsAfterReset() async throws {
    let ad = try sampleAd(answeredAt: DeviceClock.monotonic.milliseconds)
    let transport = FakeTransport { _ in .ad(ad) }
    let client = AdNetworkClient(identity: try sampleIdentity(), transport: transport)
    let banner = try Banner(client: client, placement: "home")
    for await event in banner.events where event == .told(.didLoad) { break }
    client.resetClientID()
    #expect(client.identity.clientID != "client-1")
    banner.visibleFractionChanged(to: 1)
    #expect(transport.events.map(\.partitionKey) == ["client-1"])
    banner.stop()
  }

  @Test("An id that is none is told at once, with what to change")
  func wrongApp() {
    #expect {
      try AdNetworkClient(app: "My App!", key: "key", via: .inMemory())
    } throws: { error in
      (error as? AdFailure)?.code == .configurationError
    }
  }

  @Test("D2: who starts again within 30 s waits for the rest of it instead of being throttled")
  func startsAgain() throws {
    let folder = try TemporaryFolder()
    let place = try #require(PlacementID("home"))
    let first = try client(folder)
    #expect(first.firstAskDelay(place) == 0)
    first.noteAsk(place)
    let delay = first.firstAskDelay(place)
    #expect(delay > 25_000 && delay <= 30_000)
  }
}
