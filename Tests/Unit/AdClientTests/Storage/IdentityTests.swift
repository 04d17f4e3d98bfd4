import AdBasics
import AdEvents
import Foundation
import LocalProcesses
import SQLite
import Synchronization
import Testing

@testable import AdClient

@Suite("A8: the identity that is made for an app")
struct IdentityTests {
  private func client(
    _ folder: TemporaryFolder, id: String? = nil, limits: Bool = false, log: AdLog? = nil
  ) throws -> AdNetworkClient {
    var options = AdClientOptions()
    options.clientID = id
    options.log = log
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

  @Test(
    "A reset and limited tracking count at once on a full disk, and at the next start once the disk had room",
    arguments: [true, false])
  func fullDisk(limits: Bool) throws {
    let folder = try TemporaryFolder()
    let old = try client(folder).identity.clientID
    try fillDisk(folder, until: "ask")
    func reset() throws -> String? {
      let again = try client(folder)
      #expect(old != nil && again.identity.clientID == old)
      again.resetClientID()
      let reset = again.identity.clientID
      #expect(reset != nil && reset != old)
      again.setLimitsTracking(true)
      if !limits { again.setLimitsTracking(false) }
      let last = again.identity.clientID
      #expect((last == nil) == limits && last != reset)
      // From its first row on there is room.
      again.noteAsk(try #require(PlacementID("home")))
      return last
    }
    let last = try reset()
    let later = try client(folder).identity.clientID
    #expect(later != nil && later != old && (limits || later == last))
  }

  @Test("The app's own id stays as long as nobody limits tracking, comes back afterwards, and is gone after a reset")
  func appsOwn() throws {
    let folder = try TemporaryFolder()
    let client = try client(folder, id: "user-7")
    client.setLimitsTracking(false)
    #expect(client.identity.clientID == "user-7")
    client.setLimitsTracking(true)
    #expect(client.identity.clientID == nil)
    client.setLimitsTracking(false)
    #expect(client.identity.clientID == "user-7")
    client.resetClientID()
    let reset = client.identity.clientID
    #expect(reset != nil && reset != "user-7")
    client.setLimitsTracking(true)
    client.setLimitsTracking(false)
    #expect(client.identity.clientID != nil && client.identity.clientID != "user-7")
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

  @Test("A4: an ad for which the network took no client id has its events under the session id")
  @MainActor
  func eventsBySession() async throws {
    let sizes: [AdSize] = [.phoneBannerPortrait, .phoneBannerLandscape]
    let served = ServedAd(
      ad: try #require(AdID("an-ad")), token: [1],
      images: sizes.map { ServedAd.Image(size: $0, url: "https://a.example/\($0).png") },
      action: AdAction(kind: .leave, destination: "https://a.example"), lifetimeMilliseconds: 900_000, isTest: false,
      serveID: sampleServeID, countsBySession: true)
    let transport = FakeTransport { request in
      let bytes = AdResponse(requestID: request.requestID, outcome: .ad(served)).encoded()
      let response = try? bytes.withUnsafeBytes { try AdResponse.read($0, headers: RecordHeaders()) }
      return response.map { RequestResult($0, at: DeviceClock.monotonic) } ?? .invalid
    }
    let client = AdNetworkClient(identity: try sampleIdentity(), transport: transport)
    let banner = try Banner(client: client, placement: "home")
    for await event in banner.events where event == .told(.didLoad) { break }
    banner.visibleFractionChanged(to: 1)
    banner.tap()
    banner.stop()
    #expect(transport.requests.map(\.clientID) == ["client-1"])
    #expect(transport.told.contains("rendered") && transport.told.contains("click"))
    #expect(Set(transport.events.map(\.partitionKey)) == ["session-1"])
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
    let entries = Mutex<[AdLogEntry]>([])
    let first = try client(folder) { entry in entries.withLock { $0.append(entry) } }
    #expect(first.firstAskDelay(place) == 0 && entries.withLock { $0.isEmpty })
    first.noteAsk(place)
    let delay = first.firstAskDelay(place)
    #expect(delay > 25_000 && delay <= 30_000)
    #expect(entries.withLock { $0.map(\.text) }.contains { $0.contains("home") && $0.contains(" s (D2)") })
  }

  @Test("Where the app names no folder, what is tried in memory is kept in memory, apart from what a network is owed")
  func inMemory() throws {
    #expect(AdTransport.edge("https://ads.example").storage == .standard)
    let place = try #require(PlacementID("home"))
    func delay(via transport: AdTransport) throws -> Int64 {
      var options = AdClientOptions()
      options.country = Country("DE")
      let client = try AdNetworkClient(app: sampleApp, key: "key", via: transport, options: options)
      defer { client.noteAsk(place) }
      return client.firstAskDelay(place)
    }
    for _ in 0..<2 { #expect(try delay(via: .inMemory()) == 0) }
    let folder = try TemporaryFolder()
    let kept = AdTransport(storage: folder.storage, AdTransport.inMemory().make)
    #expect(try delay(via: kept) == 0)
    #expect(try delay(via: kept) > 0)
  }
}
