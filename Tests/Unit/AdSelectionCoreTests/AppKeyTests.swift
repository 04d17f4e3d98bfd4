import AdCore
import AdEvents
import Testing

@testable import AdSelectionCore
@testable import Pipeline

@Suite("Requests without their app's key")
struct AppKeyTests {
  private let client = PartitionRig.clients[0]

  @Test("M1, A1: whatever strangers invent, they count for no app: by day and reason alone")
  func countForNoApp() throws {
    var rig = try PartitionRig()
    let other = AppKey(app: try #require(AppID("other")), build: .distribution, keyHash: [7])
    var samples = rig.samples
    samples.keys.append(other)
    rig = try PartitionRig(samples)
    rig.grantAll()
    var requests = [SelectionInput.request(try rig.incoming(client))]
    for (index, client) in PartitionRig.clients.dropFirst().prefix(90).enumerated() {
      let key: [UInt8] = index % 3 == 0 ? [9] : index % 3 == 1 ? Samples.revokedKey : [7]
      requests.append(
        .request(
          try rig.incoming(client, key: key) {
            if index % 2 == 0 { $0.app = AppID("invented-\(index)") ?? $0.app }
            $0.placement = PlacementID("place-\(index)") ?? $0.placement
            $0.country = Country(index % 4 == 0 ? "XA" : "XB") ?? $0.country
          }))
    }
    let batch = rig.run(requests)
    #expect(batch.effects.decisions.count == 91, "each is decided, and can be explained")
    let counts = rig.counts
    #expect(counts.count == 4)
    #expect(counts.filter { $0.key.ofApp != nil }.map(\.value) == [1])
    let keyless = counts.filter { $0.key.ofApp == nil }
    #expect(Set(keyless.keys.map(\.reason)) == [.unknownKey, .revokedKey, .keyOfAnotherApp])
    #expect(keyless.values.reduce(0, +) == 90)
  }

  @Test(
    "A1: a repeated request that now carries an unknown, revoked or foreign key is refused, not answered with the ad")
  func repeatedWithoutKey() throws {
    var rig = try PartitionRig()
    rig.grantAll()
    let first = rig.run([.request(try rig.incoming(client))])
    for (key, reason) in [([9], DecisionReason.unknownKey), (Samples.revokedKey, .revokedKey)] as [([UInt8], _)] {
      let again = rig.run([.request(try rig.incoming(client, key: key))])
      #expect(again.outcomes == [.refused(.configurationError)])
      #expect(again.effects.decisions.map(\.decision.reason) == [reason])
      guard case .error(.configurationError, _) = try PartitionRig.response(try #require(again.answers.first)).outcome
      else {
        Issue.record("the ad of another")
        return
      }
    }
    // Whoever has the key is still answered with its own.
    let owner = rig.run([.request(try rig.incoming(client))])
    #expect(owner.outcomes == [.duplicate] && owner.answers.map(\.value) == first.answers.map(\.value))
  }

  @Test("A1: the same request by a test build's key is no repetition: it gets a test ad, not the live one")
  func repeatedByTestBuild() throws {
    var rig = try PartitionRig()
    rig.grantAll()
    _ = rig.run([.request(try rig.incoming(client))])
    let test = rig.run([.request(try rig.incoming(client, key: Samples.testKey))])
    #expect(test.outcomes != [.duplicate])
    #expect(test.effects.decisions.allSatisfy { $0.serve?.terms.isTest ?? true && $0.decision.isTest })
  }

  @Test("A1: a refused stranger is not remembered: memory is for whoever has a key")
  func notRemembered() throws {
    var rig = try PartitionRig()
    _ = rig.run([.request(try rig.incoming(client, key: [9]))])
    #expect(rig.decider.state.recent.count == 0)
    try rig.restart()
    #expect(rig.decider.state.recent.count == 0)
  }

  @Test("M1: past its deadline, or without a catalogue, a request still counts only for the app whose key it has")
  func lateOrWithoutCatalog() throws {
    var rig = try PartitionRig()
    let late = Samples.now.advanced(byMilliseconds: 2_001)
    let requests = [
      SelectionInput.request(try rig.incoming(client)),
      .request(try rig.incoming(PartitionRig.clients[1], key: [9])),
    ]
    let batch = rig.run(requests, at: late, arrival: Samples.now)
    #expect(batch.effects.decisions.map(\.decision.reason) == [.deadlinePassed, .unknownKey])

    let stale = Samples.now.advanced(byMilliseconds: 3_000)
    rig.catalog.apply([.message(.heartbeat(records: 99, versionSum: 99, at: stale))], now: stale)
    let now = stale.advanced(byMilliseconds: 5_001)
    let incomplete = rig.run(
      [
        .request(try rig.incoming(client, at: now)),
        .request(try rig.incoming(PartitionRig.clients[1], key: [9], at: now)),
        .request(try rig.incoming(PartitionRig.clients[2], key: Samples.revokedKey, at: now)),
      ], at: now)
    // A key that is not there yet may be a new one: the app may ask again.
    #expect(incomplete.outcomes == [.refused(.serverFailure), .refused(.serverFailure), .refused(.configurationError)])
    let decisions = incomplete.effects.decisions
    #expect(decisions.map(\.decision.reason) == [.catalogIncomplete, .keyNotYetKnown, .revokedKey])
    #expect(decisions.map { if case .ofApp = $0.countKey { true } else { false } } == [true, false, false])
  }
}
