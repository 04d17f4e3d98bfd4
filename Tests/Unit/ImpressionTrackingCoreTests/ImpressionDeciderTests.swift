import AdCore
import AdEvents
import ImpressionTrackingCore
import Pipeline
import Testing

@Suite struct ImpressionDeciderTests {
  static let now = Timestamp(milliseconds: 1_790_000_000_000)

  @Test("M4: the same served ad counts once, in one batch and over batches")
  func once() throws {
    var decider = ImpressionDecider(windows: Windows(), now: Self.now)
    let terms = try Sample.terms()
    let first = try Sample.decide(&decider, [.viewed(terms), .viewed(terms)])
    #expect(first.outcomes == [.accepted, .duplicate])
    #expect(first.effects.impressions.map(\.sequence) == [7])
    #expect(first.messages.map(\.sequence) == [7])
    #expect(try Sample.decide(&decider, [.viewed(terms)]).outcomes == [.duplicate])
  }

  @Test("M4: a batch that was not committed leaves nothing behind")
  func reverted() throws {
    var decider = ImpressionDecider(windows: Windows(), now: Self.now)
    let terms = try Sample.terms()
    #expect(try Sample.decide(&decider, [.viewed(terms)]).outcomes == [.accepted])
    let isReverted = decider.revert()
    #expect(isReverted)
    #expect(try Sample.decide(&decider, [.viewed(terms)]).outcomes == [.accepted])
  }

  @Test("M4: an old id is taken in good faith, and asked for once one was found twice")
  func oldIDs() throws {
    var decider = ImpressionDecider(windows: Windows(), now: Self.now)
    let terms = try Sample.terms(issuedMillisecondsAgo: 60_000)
    let records = Sample.records([.viewed(terms)])
    #expect(decider.query(for: records, context: Sample.context()) == nil)
    var suspected = Sample.context()
    suspected.isDuplicateSuspected = true
    let query = try #require(decider.query(for: records, context: suspected))
    #expect(query.ids.impressions == [terms.serveID])
    var known = ImpressionKnowledge()
    known.ids = query.ids
    let decision = decider.decide(records, knowing: known, context: suspected)
    #expect(decision.outcomes == [.duplicate])
    let other = Sample.records([.viewed(try Sample.terms(number: 2, issuedMillisecondsAgo: 60_000))])
    #expect(decider.query(for: other, context: Sample.context()) != nil)
  }

  @Test("M4: of what lies many in a row, what is not certainly new is asked for before it is decided")
  func packedIDs() throws {
    var decider = ImpressionDecider(windows: Windows(), now: Self.now)
    let old = try Sample.terms(issuedMillisecondsAgo: 60_000)
    // What another owner can have taken last was issued 5 s after it came; of that a millisecond later none.
    let last = try Sample.terms(number: 5, issuedMillisecondsAgo: -5_000)
    let new = try Sample.terms(number: 2, issuedMillisecondsAgo: -5_001)
    // A key verifies for as long as it is kept: such a token is rejected, and would have all days looked through.
    let months = try Sample.terms(number: 6, issuedMillisecondsAgo: 60 * 86_400_000)
    let foreign = try Sample.terms(number: 3, partition: 3, issuedMillisecondsAgo: 60_000)
    let told = [old, last, new, months, foreign].flatMap { terms in
      [ImpressionEvent.Kind.rendered, .unloaded].map { kind in
        ImpressionInput.event(
          ServedEvent(kind: kind, terms: terms, age: .milliseconds(0), claimedTime: nil, error: nil))
      }
    }
    let query = try #require(decider.query(for: Sample.records(told), context: Sample.context()))
    #expect(query.ids.deliveries == [.rendered: [old.serveID, last.serveID]] && query.ids.impressions.isEmpty)
    var known = try Sample.knowledge()
    known.ids = query.ids
    let decision = decider.decide(
      Sample.records([.event(old, .rendered), .event(old, .unloaded)]), knowing: known, context: Sample.context())
    #expect(decision.outcomes == [.duplicate, .accepted])
    let taken = try Sample.terms(number: 4, issuedMillisecondsAgo: 60_000)
    _ = try Sample.decide(&decider, [.event(taken, .rendered)])
    #expect(decider.query(for: Sample.records([.event(taken, .rendered)]), context: Sample.context()) == nil)
  }

  @Test("M4: what lies many in a row counts once, though a batch has what was remembered of it forgotten")
  func forgottenWithin() throws {
    func newer(_ count: UInt64) throws -> [ImpressionInput] {
      try (0..<count).map { .event(try Sample.terms(number: 100 + $0, issuedMillisecondsAgo: 1_000), .rendered) }
    }
    let old = ImpressionInput.event(try Sample.terms(issuedMillisecondsAgo: 60_000), .rendered)
    // 64 ids have room.
    func decider() -> ImpressionDecider {
      ImpressionDecider(windows: Windows(), now: Self.now, memory: ImpressionMemory(bytesMaximum: 1))
    }
    var one = decider()
    let within = try Sample.decide(&one, [old] + newer(64) + [old]).outcomes
    #expect(within.last == .duplicate && within.dropLast().allSatisfy { $0 == .accepted })
    #expect(one.query(for: Sample.records([old]), context: Sample.context()) != nil, "it was not forgotten")
    var other = decider()
    _ = try Sample.decide(&other, [old] + newer(63))
    #expect(other.query(for: Sample.records([old]), context: Sample.context()) == nil, "it is asked for")
    let batch = [ImpressionInput.event(try Sample.terms(number: 99, issuedMillisecondsAgo: 1_000), .rendered), old]
    #expect(try Sample.decide(&other, batch).outcomes == [.accepted, .duplicate])
    #expect(other.query(for: Sample.records([old]), context: Sample.context()) != nil, "it was not forgotten")
  }

  @Test("M4, M6: who invents failures, of times to come too, has nothing forgotten of ads that were drawn")
  func failuresApart() throws {
    var decider = ImpressionDecider(
      windows: Windows(), now: Self.now, memory: ImpressionMemory(bytesMaximum: 1))
    let drawn = ImpressionInput.event(try Sample.terms(issuedMillisecondsAgo: 60_000), .rendered)
    _ = try Sample.decide(&decider, [drawn])
    // A client makes these ids, and may be a day ahead.
    let ahead = Self.now.advanced(byMilliseconds: 25 * 3_600_000)
    let told = try Sample.decide(&decider, try (0..<1_000).map { try Sample.failure($0, at: ahead) })
    #expect(told.effects.failures.count == 1_000)
    #expect(decider.query(for: Sample.records([drawn]), context: Sample.context()) == nil)
    #expect(try Sample.decide(&decider, [drawn]).outcomes == [.duplicate])
  }

  /// An age, how long after the issue the event arrived, and why it is rejected.
  struct Moment: Sendable {
    let age: Int64
    let sinceIssue: Int64
    let reason: RejectionReason?
  }

  static let moments = [
    Moment(age: 1_000, sinceIssue: 2_000, reason: nil),
    Moment(age: 900_000, sinceIssue: 902_000, reason: nil),
    Moment(age: 900_001, sinceIssue: 902_000, reason: .tokenExpired),
    Moment(age: 8_001, sinceIssue: 3_000, reason: .eventInFuture),
    Moment(age: 8_000, sinceIssue: 3_000, reason: nil),
    Moment(age: 1_000, sinceIssue: 86_401_001, reason: .tooLateArrival),
    Moment(age: 1_000, sinceIssue: 93_600_001, reason: .tokenOutOfTime),
  ]

  @Test("I1: an event outside its token's life or its own time is rejected with its reason", arguments: moments)
  func timing(moment: Moment) throws {
    var decider = ImpressionDecider(windows: Windows(), now: Self.now)
    let terms = try Sample.terms(issuedMillisecondsAgo: moment.sinceIssue)
    let decision = try Sample.decide(&decider, [.viewed(terms, age: moment.age)])
    #expect(decision.outcomes == [moment.reason.map(Outcome.rejected) ?? .accepted])
    #expect(decision.rejections.map(\.reason) == (moment.reason.map { [$0] } ?? []))
    // How late is too late, a setting says.
    #expect(!decision.rejections.contains { $0.reason == .tooLateArrival && $0.detail.contains("24 h") })
  }

  @Test("an event of another partition is forwarded where its token says; to one that is not there it is rejected")
  func otherPartition() throws {
    var decider = ImpressionDecider(windows: Windows(), now: Self.now)
    let decision = try Sample.decide(
      &decider, [.viewed(try Sample.terms(partition: 3)), .viewed(try Sample.terms(number: 2, partition: 4))])
    #expect(decision.outcomes == [.forwarded, .rejected(.unknownPartition)])
    #expect(decision.forwards.map(\.partition) == [3])
    #expect(decision.effects.impressions.isEmpty)
  }

  @Test("one token sent to the wrong partition again and again is sent on a few times, then rejected; others are not")
  func sentAstrayAgain() throws {
    var decider = ImpressionDecider(windows: Windows(), now: Self.now)
    let terms = try Sample.terms(partition: 3)
    // A batch that was not committed sent nothing on.
    _ = try Sample.decide(&decider, Array(repeating: .viewed(terms), count: 100))
    let isReverted = decider.revert()
    #expect(isReverted)
    let most = ForwardLimit.ofOneMaximum
    let decision = try Sample.decide(&decider, Array(repeating: .viewed(terms), count: 100))
    #expect(decision.forwards.count == most)
    #expect(decision.outcomes.suffix(100 - most).allSatisfy { $0 == .rejected(.forwardedTooOften) })
    #expect(Set(decision.rejections.map(\.detail)) == ["it was sent on \(most) times already: write to partition 3"])
    let later = try Sample.decide(
      &decider, [.viewed(terms), .event(terms, .rendered), .viewed(try Sample.terms(number: 2, partition: 3))])
    #expect(later.outcomes == [.rejected(.forwardedTooOften), .forwarded, .forwarded])
  }

  @Test("M6: what else is told of an ad counts once for each kind, and each error without an ad once for its request")
  func others() throws {
    var decider = ImpressionDecider(windows: Windows(), now: Self.now)
    let terms = try Sample.terms()
    let failure = try Sample.failure()
    let decision = try Sample.decide(
      &decider,
      [
        .event(terms, .rendered), .event(terms, .viewed), .event(terms, .unloaded), .event(terms, .rendered), failure,
        failure,
      ])
    #expect(decision.outcomes == [.accepted, .accepted, .accepted, .duplicate, .accepted, .duplicate])
    #expect(decision.effects.impressions.count == 1)
    #expect(decision.effects.deliveries.map(\.kind) == [.rendered, .unloaded])
    #expect(decision.effects.failures.count == 1)
    var counts: [ImpressionMinuteKey: Int64] = [:]
    ImpressionTracking.count(decision.effects, into: &counts)
    #expect(counts.values.reduce(0, +) == 4)
  }

  @Test("A1, M6: a failure without an ad counts only with its app's key, live only with that of a distribution build")
  func failureKeys() throws {
    var decider = ImpressionDecider(windows: Windows(), now: Self.now)
    let keys: [[UInt8]] = [[1], [2], [3], [4], [9]]
    let inputs = try keys.enumerated().map { try Sample.failure(UInt64($0), key: $1) }
    let query = try #require(decider.query(for: Sample.records(inputs), context: Sample.context()))
    #expect(query.keys == Set(keys) && query.ids.isEmpty)
    let decision = try Sample.decide(&decider, inputs)
    #expect(decision.outcomes == [.accepted, .accepted] + Array(repeating: .rejected(.appKeyWrong), count: 3))
    #expect(decision.effects.failures.map(\.isTest) == [false, true])
  }

  @Test("M6: however many placements failures name, their counts have one name for each app and error")
  func failurePlacements() throws {
    var decider = ImpressionDecider(windows: Windows(), now: Self.now)
    let inputs = try (0..<300).map { number -> ImpressionInput in
      guard case .failure(var failure) = try Sample.failure(UInt64(number)) else { return try Sample.failure() }
      failure.placement = try #require(PlacementID("place-\(number)"))
      return .failure(failure)
    }
    var counts: [ImpressionMinuteKey: Int64] = [:]
    ImpressionTracking.count(try Sample.decide(&decider, inputs).effects, into: &counts)
    #expect(Array(counts.values) == [300])
  }

  @Test("a record that the database refuses alone is put aside as such")
  func refused() throws {
    var decider = ImpressionDecider(windows: Windows(), now: Self.now)
    var context = Sample.context()
    context.refusal = "no table takes it"
    let decision = decider.decide(Sample.records([.viewed(try Sample.terms())]), knowing: nil, context: context)
    #expect(decision.outcomes == [.rejected(.refusedByDatabase)])
    #expect(decision.messages.isEmpty)
  }

  @Test("B8: seen sooner than can be is recorded once and counts nowhere, in whatever order the views come")
  func impossibleView() throws {
    for ages in [[999, 1_000, 998], [1_000, 0, 999]] as [[Int64]] {
      var decider = ImpressionDecider(windows: Windows(), now: Self.now)
      let terms = try Sample.terms()
      let decision = try Sample.decide(&decider, ages.map { .viewed(terms, age: $0) })
      #expect(
        decision.outcomes
          == (ages[0] < 1_000 ? [.impossible, .accepted, .duplicate] : [.accepted, .impossible, .duplicate]))
      #expect(decision.messages.map(\.sequence) == [7])
      #expect(decision.effects.impressions.map(\.accepted.terms) == [terms])
      #expect(decision.effects.deliveries.map(\.kind) == [.viewedTooSoon])
    }
  }

  @Test("B8: without an age there is no clock of the device, and nothing is impossible")
  func unknownAge() throws {
    var decider = ImpressionDecider(windows: Windows(), now: Self.now)
    let terms = try Sample.terms()
    let event = ServedEvent(kind: .viewed, terms: terms, age: .unknown, claimedTime: terms.issuedAt, error: nil)
    #expect(try Sample.decide(&decider, [.event(event)]).outcomes == [.accepted])
  }
}
