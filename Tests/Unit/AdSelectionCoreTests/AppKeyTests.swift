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
    // Two that name the app, and two of all those that name none: they can be explained.
    #expect(batch.effects.decisions.count == 5)
    #expect(batch.effects.keylessBeyondLimit == 86)
    #expect(batch.outcomes == [.accepted] + Array(repeating: .refused(.configurationError), count: 90))
    #expect(batch.answers.count == 3, "an app that nobody registered has no topic")
    let counts = rig.counts
    #expect(counts.filter { $0.key.ofApp != nil }.map(\.value) == [1])
    let keyless = counts.filter { $0.key.ofApp == nil }
    #expect(Set(keyless.keys.map(\.reason)).isSubset(of: [.unknownKey, .revokedKey, .keyOfAnotherApp]))
    #expect(keyless.values.reduce(0, +) == 4)
  }

  @Test("A1: who integrates hears of a wrong key, and a stranger cannot flood: answers are few per app and second")
  func fewAnswers() throws {
    var rig = try PartitionRig()
    func flood(_ count: Int, at now: Timestamp) throws -> Int {
      let requests = try PartitionRig.clients.prefix(count).map {
        SelectionInput.request(try rig.incoming($0, key: [9], at: now))
      }
      let batch = rig.run(requests, at: now)
      #expect(batch.effects.decisions.count == batch.answers.count)
      #expect(Int(batch.effects.keylessBeyondLimit) == count - batch.answers.count)
      return batch.answers.count
    }
    #expect(try flood(90, at: Samples.now) == KeylessLimit.ofAppPerSecondMaximum)
    #expect(try flood(90, at: Samples.now.advanced(byMilliseconds: 1)) == 0)
    #expect(try flood(1, at: Samples.now.advanced(byMilliseconds: 1_000)) == 1)
  }

  @Test(
    "A1: a stranger who goes on all day leaves a bounded number of rows, and whoever integrates an app goes on hearing of it"
  )
  func fewRows() throws {
    var rig = try PartitionRig()
    var (rows, answers, beyond) = (0, 0, 0)
    let seconds = KeylessLimit.rowsPerDayMaximum / KeylessLimit.ofAppPerSecondMaximum + 10
    func ask(second: Int) throws {
      let now = Samples.now.advanced(byMilliseconds: Int64(second) * 1_000)
      let requests = try PartitionRig.clients.prefix(KeylessLimit.ofAppPerSecondMaximum).map {
        SelectionInput.request(try rig.incoming($0, key: [9], at: now))
      }
      let batch = rig.run(requests, at: now)
      rows += batch.effects.decisions.count
      answers += batch.answers.count
      beyond += Int(batch.effects.keylessBeyondLimit)
    }
    for second in 0..<seconds { try ask(second: second) }
    #expect(rows == KeylessLimit.rowsPerDayMaximum)
    #expect(answers == seconds * KeylessLimit.ofAppPerSecondMaximum)
    #expect(beyond == answers - rows)
    try ask(second: 86_400)
    #expect(rows == KeylessLimit.rowsPerDayMaximum + KeylessLimit.ofAppPerSecondMaximum)
  }

  @Test("A1: strangers who name every app there is get a bounded number of answers, all together")
  func fewOfAll() throws {
    var limit = KeylessLimit()
    let apps = (0..<1_000).compactMap { AppID("app-\($0)") }
    let admitted = apps.filter { limit.admit($0, now: Samples.now) }
    #expect(admitted.count == KeylessLimit.perSecondMaximum)
    let isAdmittedLater = limit.admit(apps[0], now: Samples.now.advanced(byMilliseconds: 1_000))
    #expect(isAdmittedLater)
  }

  @Test("M6: beyond the first placements of a day an app's further names count as one, in rows, counts and tokens")
  func placementsAreBounded() throws {
    var rig = try PartitionRig()
    rig.grantAll()
    let most = PlacementNames.ofAppMaximum
    func ask(_ numbers: Range<Int>, at now: Timestamp, key: [UInt8] = Samples.liveKey) throws -> [DecidedRequest] {
      let requests = try numbers.map { number in
        SelectionInput.request(
          try rig.incoming(PartitionRig.clients[number % 80], key: key, at: now) {
            $0.placement = PlacementID("place-\(number)") ?? $0.placement
            $0.requestID = UUIDv7(timestamp: now, randomHigh: UInt64(number), randomLow: key[0] == 9 ? 1 : 2)
          })
      }
      return rig.run(requests, at: now).effects.decisions
    }
    // Strangers use nothing of it up.
    _ = try ask(1_000..<1_300, at: Samples.now, key: [9])
    let decided = try ask(0..<most + 30, at: Samples.now)
    #expect(decided.count == most + 30)
    let named = Set(decided.map(\.asked.placement))
    #expect(named.count == most + 1)
    #expect(decided.suffix(30).allSatisfy { $0.asked.placement == PlacementNames.other })
    #expect(decided.allSatisfy { $0.serve == nil || $0.serve?.terms.placement == $0.asked.placement })
    #expect(decided.suffix(30).contains { $0.serve != nil })
    // The next day has names of its own.
    let tomorrow = Samples.now.advanced(byMilliseconds: Windows.dayMilliseconds)
    rig.beat(at: tomorrow)
    #expect(try ask(500..<501, at: tomorrow).map(\.asked.placement) == [PlacementID("place-500")])
  }

  @Test("M6: the partitions of a process share how many names of placements are kept apart, and give them back")
  func placementsAreShared() throws {
    let bound = SharedBound(10)
    let app = try #require(AppID("chess"))
    func isApart(_ number: Int, _ names: inout PlacementNames, at moment: Timestamp = Samples.now) throws -> Bool {
      let placement = try #require(PlacementID("place-\(number)"))
      return names.counted(placement, of: app, isTest: false, at: moment) == placement
    }
    var names = PlacementNames(sharing: bound)
    do {
      var others = PlacementNames(sharing: bound)
      #expect(try (0..<7).map { try isApart($0, &names) } == Array(repeating: true, count: 5) + [false, false])
      #expect(try (0..<7).count { try isApart($0, &others) } == 5)
      #expect(bound.held == 10)
    }
    #expect(bound.held == 5)
    #expect(try (5..<12).count { try isApart($0, &names) } == 5)
    // The next day has names of its own.
    let tomorrow = Samples.now.advanced(byMilliseconds: Windows.dayMilliseconds)
    #expect(try isApart(11, &names, at: tomorrow) && bound.held == 1)
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
