import AdCore
import AdEvents
import TestValues
import Testing

@testable import AdSelectionCore
@testable import Pipeline

/// Apps for users under 17: whatever they send, nothing is taken that is their user's.
@Suite("A4, A8: users under 17")
struct MinorTests {
  private static let client = PartitionRig.clients[0]

  /// A partition whose app is for users under 17 or not, with an ad that is for hikers alone.
  private static func rig(isUnder17: Bool?) throws -> PartitionRig {
    var samples = try Samples()
    samples.apps[0].isUnder17 = isUnder17
    samples.campaigns[0].targeting.allowsUnder17 = true
    samples.campaigns[0].targeting.segments = ["hikers"]
    var rig = try PartitionRig(samples)
    rig.grantAll()
    return rig
  }

  private static func decided(_ rig: inout PartitionRig) throws -> DecidedRequest {
    var incoming = try rig.incoming(client) {
      $0.segments = ["hikers"]
      $0.sessionID = "session-1"
    }
    incoming.sight = EdgeSight(country: nil, agent: .app, isDataCentre: true, isKnownBot: false, network: 7)
    return try #require(rig.run([.request(incoming)]).effects.decisions.first)
  }

  private static func sessionHash(_ rig: PartitionRig) throws -> UInt64 {
    try ClientHasher(ring: rig.ring).hash(
      app: rig.samples.apps[0].id, clientID: "", sessionID: "session-1", now: Samples.now)
  }

  @Test("their segments and networks are stored nowhere and choose no ad, and the session stands for the client id")
  func under17() throws {
    var rig = try Self.rig(isUnder17: true)
    let decided = try Self.decided(&rig)
    #expect(decided.asked.clientHash == (try Self.sessionHash(rig)))
    #expect(decided.decision.inputs?.segments == [])
    let sight = EdgeSight(country: nil, agent: .app, isDataCentre: true, isKnownBot: false)
    #expect(decided.asked.sight == sight, "what says nothing of him stays")
    #expect(decided.decision.reason != .served)
  }

  @Test("others' segments and client ids count")
  func adult() throws {
    var rig = try Self.rig(isUnder17: false)
    let decided = try Self.decided(&rig)
    #expect(decided.asked.clientHash == Self.client)
    #expect(decided.decision.inputs?.segments == ["hikers"] && decided.asked.sight?.network == 7)
    #expect(decided.decision.reason == .served)
  }

  @Test("while nobody has said whom an app is for, it counts as for users under 17")
  func unanswered() throws {
    var rig = try Self.rig(isUnder17: nil)
    #expect(try Self.decided(&rig).asked.clientHash == (try Self.sessionHash(rig)))
  }

  @Test("a request of theirs that comes again is answered with the decision that it has")
  func again() throws {
    var rig = try Self.rig(isUnder17: true)
    let request = SelectionInput.request(try rig.incoming(Self.client))
    #expect(rig.run([request]).outcomes != [.duplicate])
    #expect(rig.run([request]).outcomes == [.duplicate])
  }

  /// What test builds are answered with, beside the terms of each ad and the client that asked.
  private static func answers(
    _ rig: inout PartitionRig, change: (inout AdRequest) -> Void
  ) throws -> [(ad: ServedAd, terms: ServedTerms, client: UInt64)] {
    let hasher = try ClientHasher(ring: rig.ring)
    let clients = PartitionRig.clients.prefix(12)
    let requests = try clients.map { client in
      var incoming = try rig.incoming(client, key: Samples.testKey, change: change)
      let legible = incoming.legible
      incoming.clientHash = hasher.hash(
        app: legible.app, clientID: legible.clientID, sessionID: legible.sessionID, now: Samples.now)
      return SelectionInput.request(incoming)
    }
    let batch = rig.run(requests)
    return try zip(batch.answers, clients).compactMap { message, client in
      guard case .ad(let ad) = try PartitionRig.response(message).outcome else { return nil }
      let decided = batch.effects.decisions.first { $0.id == ad.serveID }
      return (ad, try #require(decided?.serve?.terms), client)
    }
  }

  @Test("the answer says that an ad counts under the session id, where the client id that was given does not count")
  func countsBySession() throws {
    for isUnder17 in [true, nil, false] as [Bool?] {
      var rig = try Self.rig(isUnder17: isUnder17)
      try Self.expectKeys(&rig, isSession: isUnder17 != false)
    }
  }

  @Test("a request that comes again after its app has answered A4 otherwise is another's: its answer is of its own ad")
  func answeredInBetween() throws {
    for (before, after) in [(nil, false), (false, true)] as [(Bool?, Bool)] {
      var rig = try Self.rig(isUnder17: before)
      let first = try Self.expectKeys(&rig, isSession: before != false)
      var app = rig.samples.apps[0]
      app.isUnder17 = after
      rig.catalog.apply([.message(.record(.app(app), version: 2))], now: Samples.now)
      let second = try Self.expectKeys(&rig, isSession: after)
      #expect(first.isDisjoint(with: second))
    }
  }

  /// Each answer names the key under which trackers will count its ad.
  ///
  /// - Returns: the ads that were served.
  @discardableResult
  private static func expectKeys(_ rig: inout PartitionRig, isSession: Bool) throws -> Set<ServeID> {
    let hasher = try ClientHasher(ring: rig.ring)
    let answers = try Self.answers(&rig) { $0.sessionID = "session-of-\($0.clientID)" }
    #expect(!answers.isEmpty)
    for (ad, terms, client) in answers {
      #expect(ad.countsBySession == isSession)
      for key in ["client-\(client)", "session-of-client-\(client)"] {
        let isTaken = Array(key.utf8).withUnsafeBytes { hasher.isClient(of: terms, id: $0) }
        #expect(isTaken == (key.hasPrefix("session") == isSession), "what trackers will say of \(key)")
      }
    }
    return Set(answers.map(\.ad.serveID))
  }

  @Test("where no client id was given, the answer says nothing of the session id")
  func withoutClientID() throws {
    var rig = try Self.rig(isUnder17: true)
    let answers = try Self.answers(&rig) { ($0.sessionID, $0.clientID) = ($0.clientID, "") }
    #expect(!answers.isEmpty && answers.allSatisfy { !$0.ad.countsBySession })
  }

  @Test("M8: a store link in their app, and in one of which nobody has said it, carries no reference into another")
  func storeLink() throws {
    for (isUnder17, isFollowed) in [(true, false), (nil, false), (false, true)] as [(Bool?, Bool)] {
      var samples = try Samples()
      samples.apps[0].isUnder17 = isUnder17
      samples.campaigns[0].targeting.allowsUnder17 = true
      samples.ads[0].action = AdAction(kind: .leave, destination: "https://apps.example/id1?ref={click:shop}")
      var rig = try PartitionRig(samples)
      rig.grantAll()
      let answer = try #require(rig.run([.request(try rig.incoming(Self.client))]).answers.first)
      let text = String(decoding: answer.value ?? [], as: UTF8.self)
      #expect(text.contains("https://apps.example/id1?ref=") == (isUnder17 != nil), "\(String(describing: isUnder17))")
      #expect(!text.contains("{click") && text.contains("?ref=AQ") == isFollowed)
    }
  }

  @Test("of a request with a mistake the client id is not taken either")
  func mistaken() throws {
    var rig = try Self.rig(isUnder17: true)
    var incoming = try rig.incoming(Self.client) { $0.sessionID = "session-1" }
    incoming.content = .mistaken(incoming.legible, Rejection(.invalidField, "country is none"))
    let decided = try #require(rig.run([.request(incoming)]).effects.decisions.first)
    #expect(decided.asked.clientHash == (try Self.sessionHash(rig)))
  }
}
