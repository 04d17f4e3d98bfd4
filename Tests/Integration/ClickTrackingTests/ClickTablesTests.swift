import AdCore
import AdEvents
import ClickTrackingCore
import Pipeline
import Postgres
import Runtime
import TestValues
import Testing

@testable import ClickTracking

@Suite("Click tracking's tables")
struct ClickTablesTests {
  private func terms(serve: UInt64, client: UInt64, now: Timestamp) throws -> ServedTerms {
    let issuedAt = now.advanced(byMilliseconds: -3_600_000)
    return .sample(serve: serve, partition: ClickPartition.number, issuedAt: issuedAt) { terms in
      (terms.allotment, terms.clientHash, terms.isTest) = (.max, .max - client, client == 3)
    }
  }

  private func event(
    _ terms: ServedTerms, id: UInt64, age: Int64, left: Bool = true, kind: TapKind = .click
  ) -> ClickInput {
    .action(
      ActionEvent(
        kind: kind, terms: terms, age: .milliseconds(age), claimedTime: nil, idHash: .max - id, actionMilliseconds: 0,
        leftApplication: left))
  }

  private func impression(_ terms: ServedTerms) -> ClickInput {
    .impression(
      AcceptedImpression(
        terms: terms, eventTime: terms.issuedAt.advanced(byMilliseconds: 1_000), arrival: terms.issuedAt))
  }

  /// Five serves with up to seven clicks each, repeated ones, accidents and blocked actions among them.
  private func events(now: Timestamp) throws -> (impressions: [ClickInput], actions: [ClickInput]) {
    let serves = try (1...5).map { try terms(serve: $0, client: $0, now: now) }
    var actions: [ClickInput] = []
    for round in 1...9 as ClosedRange<UInt64> {
      for (index, serve) in serves.enumerated() where (round + UInt64(index)) % 3 != 0 {
        let id = round % 7
        actions.append(
          event(
            serve, id: id, age: 1_500 + Int64(id) * 30_000, left: (id + UInt64(index)) % 3 != 0,
            kind: id == 5 ? .blocked : id == 6 ? .cancelled : .click))
      }
    }
    return (serves.map(impression), actions)
  }

  /// The day's tables stand around today.
  private let now = SystemClock().now

  @Test("M5: whether impressions come first, last or among the clicks, the tables hold the same clicks and counts")
  func sameRows() async throws {
    let first = try await ClickPartition(now: now)
    let last = try await ClickPartition(now: now)
    let mixed = try await ClickPartition(now: now)
    let (impressions, actions) = try events(now: now)
    try first.run(impressions)
    try first.run(actions)
    for action in actions { try last.run([action]) }
    try last.takeOver()
    #expect(try last.count("SELECT count(*) FROM click_tracking.parked") > 10)
    try last.run(impressions)
    var rest = actions[...]
    for impression in impressions {
      try mixed.run(Array(rest.prefix(5)) + [impression])
      rest = rest.dropFirst(5)
      try mixed.takeOver()
    }
    try mixed.run(Array(rest))

    let clicks = try first.clicks()
    let counts = try first.counts()
    #expect(clicks.count > 15)
    #expect(try first.count("SELECT count(DISTINCT verdict) FROM click_tracking.click") == 3)
    for other in [last, mixed] {
      #expect(try other.clicks() == clicks)
      #expect(try other.counts() == counts)
      #expect(try other.count("SELECT count(*) FROM click_tracking.parked") == 0)
      #expect(try other.count("SELECT sum(cardinality(serve_ids))::bigint FROM click_tracking.impression_pack") == 5)
      #expect(
        try other.count("SELECT count(*) FROM click_tracking.stopped_action")
          == first.count("SELECT count(*) FROM click_tracking.stopped_action"))
    }
  }

  /// The clicks in the runs that were published, with their sequences.
  private func published(_ partition: ClickPartition) throws -> [Int64: AcceptedClick] {
    var clicks: [Int64: AcceptedClick] = [:]
    for message in partition.published.numbered {
      var headers = RecordHeaders()
      for header in message.headers { headers.add(header) }
      let record = try (message.value ?? []).withUnsafeBytes {
        try AcceptedRecords.clicks(value: $0, headers: headers).get()
      }
      guard case .run(let run) = record else { continue }
      for (sequence, click) in zip(run.sequences, run.events) { clicks[sequence] = click }
    }
    return clicks
  }

  @Test("What was published is made again from the rows, to the last bit, in whatever runs")
  func republished() async throws {
    let partition = try await ClickPartition(now: now)
    let (impressions, actions) = try events(now: now)
    for (index, action) in actions.enumerated() {
      try partition.run(index < impressions.count ? [action, impressions[index]] : [action])
    }
    let first = try published(partition)
    #expect(first.count == (try partition.clicks().count))
    try partition.takeOver()
    #expect(try published(partition) == first)
  }

  @Test("M5: what has no impression ends with its watermark")
  func noImpression() async throws {
    let partition = try await ClickPartition(now: now)
    let (_, actions) = try events(now: now)
    try partition.run(actions)
    let parked = try partition.count("SELECT count(*) FROM click_tracking.parked")
    #expect(parked > 10)
    try partition.tick()
    #expect(try partition.count("SELECT count(*) FROM click_tracking.parked") == parked)
    try partition.takeOver()
    try partition.run([.watermark])
    try partition.tick()
    #expect(try partition.count("SELECT count(*) FROM click_tracking.parked") == 0)
    let withoutView = "verdict = vocabulary.click_verdict('noImpression')"
    #expect(
      try partition.count("SELECT count(*) FROM click_tracking.click WHERE \(withoutView) AND was_parked") == parked)
    _ = try partition.counts()
    #expect(
      try partition.count(
        """
        SELECT sum(events)::bigint FROM click_tracking.all_count
        WHERE kind = vocabulary.tap_kind('click') AND \(withoutView)
        """) == parked)
  }

  @Test("M5: a waiting click whose verdict the database refuses is left, with an alarm; the others get theirs")
  func refusedVerdict() async throws {
    let partition = try await ClickPartition(now: now)
    let (_, actions) = try events(now: now)
    try partition.run(actions)
    let refused = try terms(serve: 3, client: 3, now: now).serveID
    try partition.connection.executeScript(
      "ALTER TABLE click_tracking.click_row ADD CONSTRAINT refuses_one CHECK (serve_id <> '\(refused)')")
    try partition.run([.watermark])
    let alarms = try partition.passMinute()
    #expect(alarms.count == 1)
    #expect(
      alarms.allSatisfy { if case .timerRefused(let detail) = $0 { detail.contains("refuses_one") } else { false } })
    #expect(try partition.count("SELECT count(DISTINCT serve_id) FROM click_tracking.parked") == 1)
    let withoutView = "verdict = vocabulary.click_verdict('noImpression')"
    #expect(try partition.count("SELECT count(DISTINCT serve_id) FROM click_tracking.click WHERE \(withoutView)") == 4)
    // Mended, and opened again.
    try partition.connection.executeScript("ALTER TABLE click_tracking.click_row DROP CONSTRAINT refuses_one")
    try partition.takeOver()
    #expect(try partition.passMinute().isEmpty)
    #expect(try partition.count("SELECT count(*) FROM click_tracking.parked") == 0)
  }

  @Test("I3: events sent again are duplicates, whatever became of the first one")
  func duplicates() async throws {
    let partition = try await ClickPartition(now: now)
    let (impressions, actions) = try events(now: now)
    try partition.run(actions + [impressions[0]])
    let clicks = try partition.clicks()
    let counts = try partition.counts()
    let summary = try partition.run(actions)
    #expect(summary.outcomes[Int(Outcome.duplicate.rawValue)] == actions.count)
    #expect(try partition.clicks() == clicks)
    #expect(try partition.counts() == counts)
  }

  @Test("B8: a click waits for an earlier one, in the tables as well, and one view decides them all")
  func waitsForEarlier() async throws {
    let partition = try await ClickPartition(now: now)
    // Four ads of one client, tapped within a minute, one of them twice, once too early; the fifth is a tester's with the
    // same client id.
    var ads = try (1...5).map { try terms(serve: $0, client: 1, now: now) }
    ads[4].isTest = true
    var taps = ads.enumerated().map { event($1, id: UInt64($0 + 1), age: 2_000 + Int64($0) * 1_000) }
    taps.append(event(ads[1], id: 8, age: 1_050))
    try partition.run(taps)
    try partition.takeOver()
    // Seen last to first: nothing can be decided, but for the tester's, and what is too early in any case.
    for ad in ads[1...].reversed() {
      try partition.run([impression(ad)])
      try partition.takeOver()
    }
    #expect(
      try partition.verdicts() == [
        .init(id: 5, verdict: .billable, wasParked: true), .init(id: 8, verdict: .tooEarly, wasParked: true),
      ])
    #expect(try partition.count("SELECT count(*) FROM click_tracking.parked") == 4)
    // A later tap finds those that wait, and waits as well; an accident needs nobody.
    let late = try terms(serve: 6, client: 1, now: now)
    let summary = try partition.run([
      impression(late), event(late, id: 6, age: 8_000), event(late, id: 7, age: 9_000, left: false),
    ])
    #expect(summary.outcomes[Int(Outcome.parked.rawValue)] == 1)
    // The same records again, while they wait.
    #expect(try partition.run(taps).outcomes[Int(Outcome.duplicate.rawValue)] == 6)
    try partition.takeOver()
    try partition.run([impression(ads[0])])
    #expect(
      try partition.verdicts() == [
        .init(id: 5, verdict: .billable, wasParked: true), .init(id: 8, verdict: .tooEarly, wasParked: true),
        .init(id: 7, verdict: .accidental, wasParked: false),
        .init(id: 1, verdict: .billable, wasParked: true), .init(id: 2, verdict: .limited, wasParked: true),
        .init(id: 3, verdict: .limited, wasParked: true), .init(id: 4, verdict: .limited, wasParked: true),
        .init(id: 6, verdict: .limited, wasParked: true),
      ])
    #expect(try partition.count("SELECT count(*) FROM click_tracking.parked") == 0)
  }

  @Test("M5, B8: the watermark ends a wait for a view that never comes, and all waits for that click with it")
  func waitsForNothing() async throws {
    let partition = try await ClickPartition(now: now)
    // The watermark passes all three at once, that of the ad which is never seen last.
    let ads = try [3, 1, 2].map { try terms(serve: $0, client: 1, now: now) }
    try partition.run(ads.enumerated().map { event($1, id: UInt64($0 + 1), age: 2_000 + Int64($0) * 1_000) })
    try partition.run([impression(ads[1])])
    try partition.run([impression(ads[2])])
    #expect(try partition.verdicts().isEmpty)
    try partition.takeOver()
    try partition.run([.watermark])
    try partition.tick()
    #expect(
      try partition.verdicts() == [
        .init(id: 1, verdict: .noImpression, wasParked: true), .init(id: 2, verdict: .billable, wasParked: true),
        .init(id: 3, verdict: .limited, wasParked: true),
      ])
    #expect(try partition.count("SELECT count(*) FROM click_tracking.parked") == 0)
  }

  @Test("M4, M7, B8: so many clicks of a serve and of a client's day are judged, accidental ones apart")
  func judged() async throws {
    var windows = Windows()
    windows.judgedClicksOfClientPerDay = 20
    let partition = try await ClickPartition(now: now, windows: windows)
    let ads = try (1...6).map { try terms(serve: $0, client: 1, now: now) }
    // Of each ad six taps and six accidents, each batch by another owner: 6 x 4 are judged of the day's 20.
    for (index, ad) in ads.enumerated() {
      for number in 0..<6 as Range<UInt64> {
        let id = UInt64(index) * 12 + number
        try partition.run([event(ad, id: id, age: 1_050), event(ad, id: id + 6, age: 2_000, left: false)])
      }
      try partition.takeOver()
    }
    let parked = "SELECT count(*) FROM click_tracking.parked WHERE is_accidental ="
    let refused = "SELECT count(*) FROM click_tracking.click WHERE NOT is_judged AND NOT was_parked AND is_accidental ="
    for isAccidental in [true, false] {
      #expect(try partition.count("\(parked) \(isAccidental)") == 20)
      #expect(try partition.count("\(refused) \(isAccidental) AND verdict = vocabulary.click_verdict('repeat')") == 10)
      #expect(try partition.count("\(refused) \(isAccidental) AND verdict = vocabulary.click_verdict('limited')") == 6)
    }
    for ad in ads { try partition.run([impression(ad)]) }
    let judged = "SELECT count(*) FROM click_tracking.click WHERE is_judged"
    #expect(try partition.count("\(judged) AND verdict = vocabulary.click_verdict('accidental')") == 20)
    #expect(try partition.count("\(judged) AND verdict = vocabulary.click_verdict('tooEarly')") == 20)
    #expect(try partition.count("SELECT count(*) FROM click_tracking.parked") == 0)
  }

  @Test("B8: a partition judges a client's clicks by its own: what another one decides, and when, changes nothing")
  func otherPartition() async throws {
    let partition = try await ClickPartition(now: now)
    let ads = try (1...4).map { try terms(serve: $0, client: 1, now: now) }
    try partition.run([impression(ads[0]), event(ads[0], id: 1, age: 2_000), event(ads[1], id: 2, age: 100_000)])
    #expect(try partition.verdicts() == [.init(id: 1, verdict: .billable, wasParked: false)])
    // As if they had been another partition's, before there were more.
    try partition.connection.executeScript(
      "UPDATE click_tracking.click SET partition = 3; UPDATE click_tracking.parked SET partition = 3")
    try partition.takeOver()
    try partition.run([impression(ads[2]), event(ads[2], id: 3, age: 3_000)])
    // Two clicks of one client wait, one in each partition.
    try partition.run([event(ads[3], id: 4, age: 101_000)])
    try partition.run([impression(ads[3])])
    #expect(
      try partition.verdicts().dropFirst() == [
        .init(id: 3, verdict: .billable, wasParked: false), .init(id: 4, verdict: .billable, wasParked: true),
      ])
  }

  @Test("Click limits hold across batches and owners")
  func limits() async throws {
    let partition = try await ClickPartition(now: now)
    var verdicts: [Int64] = []
    // One client, a click each 30 s: one a minute, three in ten minutes.
    for number in 1...30 as ClosedRange<UInt64> {
      let ad = try terms(serve: number, client: 1, now: now)
      try partition.run([impression(ad), event(ad, id: number, age: 2_000 + Int64(number) * 30_000)])
      if number % 7 == 0 { try partition.takeOver() }
      verdicts.append(
        try partition.count("SELECT verdict::bigint FROM click_tracking.click ORDER BY sequence DESC LIMIT 1"))
    }
    let billable = verdicts.indices.filter { verdicts[$0] == 1 }
    #expect(billable == [0, 2, 4, 20, 22, 24])
    #expect(verdicts.allSatisfy { $0 == 1 || $0 == 6 })
  }
}
