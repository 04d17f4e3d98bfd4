import AdCore
import AdEvents
import Testing

@testable import ClickTrackingCore
@testable import Pipeline

/// Click tracking's tables in memory, and one partition that works on them as the pipeline would.
struct MemoryTables {
  let windows: Windows
  var decider: ClickDecider
  var clicks: [ClickEffects.Click] = []
  var parked: [ParkedClick] = []
  var impressions: [ServeID: Timestamp] = [:]
  var stopped: [ActionIdentity] = []
  var conversions: [ClickEffects.Conversion] = []
  /// Of the catalogue.
  var keys: [KnownAppKey] = []
  var counts: [ClickMinuteKey: Int64] = [:]
  var batchNumber: Int64 = 0
  var nextOffset: Int64 = 0
  var consumedWatermark = Timestamp(milliseconds: 0)
  var arrival = Samples.now.advanced(byMilliseconds: 3_600_000)

  private let memory: ClickMemory

  init(windows: Windows = Windows(), memory: ClickMemory = ClickMemory()) {
    self.windows = windows
    self.memory = memory
    decider = ClickDecider(windows: windows, memory: memory)
  }

  /// As a new owner of the partition would find it.
  mutating func reload() { decider = ClickDecider(windows: windows, memory: memory) }

  func context(isRefused: Bool = false) -> BatchContext {
    BatchContext(
      partition: Samples.partition, partitionCount: 12, now: arrival, batchNumber: batchNumber + 1,
      nextSequences: [Int64(clicks.count) + 1], committedWatermark: Timestamp(milliseconds: 0),
      watermark: Timestamp(milliseconds: 0), consumedWatermarks: [Timestamp(milliseconds: 0), consumedWatermark],
      refusal: isRefused ? "no table takes it" : nil, isDuplicateSuspected: false)
  }

  func answer(_ query: ClickQuery) -> ClickKnowledge {
    var known = ClickKnowledge()
    let stored = clicks.map {
      ActionIdentity(serveID: $0.accepted.terms.serveID, kind: .click, idHash: $0.accepted.idHash)
    }
    known.identities = query.identities.intersection(stored + stopped)
    known.serves = query.serves
    for conversion in conversions where query.converted.contains(conversion.told.reference.serveID) {
      let ad = ConvertedAd(serveID: conversion.told.reference.serveID, isTest: conversion.isTest)
      known.conversions[ad, default: []].insert(conversion.told.identity)
    }
    for found in keys where query.keys.contains(found.key.keyHash) { known.keys[found.key.keyHash] = found }
    for serve in query.serves { known.seenAt[serve] = impressions[serve] }
    if let asked = query.expired {
      let serves = parked.filter { $0.terms.expiresAt < asked.before && impressions[$0.terms.serveID] == nil }
      known.expired = asked.of(Set(serves.map { UnseenServe(of: $0.terms) }).sorted())
    }
    let serves = query.waitedFor.union(known.expired)
    let waitedFor = parked.filter { serves.contains($0.terms.serveID) }.map(\.client)
    for client in Set(query.clients.keys).union(waitedFor) {
      var found = ClientClicks()
      found.waiting = parked.filter { $0.client == client }
      for click in found.waiting { known.seenAt[click.terms.serveID] = impressions[click.terms.serveID] }
      guard let times = query.serveTimes(of: client, waiting: found.waiting, windows: windows) else { continue }
      found.judged = clicks.filter {
        $0.isJudged && ClickClient(of: $0.accepted.terms) == client && times.contains($0.accepted.terms.issuedAt)
      }.map {
        .init(
          serveID: $0.accepted.terms.serveID, eventTime: $0.accepted.eventTime, isAccidental: $0.isAccidental,
          isBillable: $0.accepted.verdict == .billable)
      }
      known.clients[client] = found
    }
    if let page = query.unseen {
      let serves = Set(parked.map { UnseenServe(of: $0.terms) })
      let found = serves.filter { $0 > page.after }.sorted().prefix(page.count)
      known.unseen = UnseenPage(
        answering: page, serves: found.filter { impressions[$0.serveID] == nil },
        last: found.count < page.count ? nil : found.last)
    }
    return known
  }

  /// As they would be read next.
  func records(_ events: [ClickInput]) -> [InputRecord<ClickInput>] {
    events.enumerated().map { index, event in
      InputRecord(
        input: 0, offset: nextOffset + Int64(index), timestamp: arrival.milliseconds, arrival: arrival,
        sequence: .unnumbered, event: event, contentHash: 0,
        raw: RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0))
    }
  }

  /// Decides a batch; `isLost`: its commit fails, and it is taken back.
  @discardableResult
  mutating func run(
    _ events: [ClickInput], isLost: Bool = false, isRefused: Bool = false
  ) -> BatchDecision<ClickEffects> {
    let records = records(events)
    let context = context(isRefused: isRefused)
    let query = decider.query(for: records, context: context)
    let decision = decider.decide(records, knowing: query.map(answer), context: context)
    if isLost {
      let isReverted = decider.revert()
      #expect(isReverted)
      return decision
    }
    _ = decider.committed(CommitResult())
    apply(decision.effects)
    batchNumber += 1
    nextOffset += Int64(events.count)
    return decision
  }

  /// Lets the timer run as long as something is due.
  mutating func passTime() {
    for _ in 0..<100 where decider.isTimerDue(context()) { run([]) }
    #expect(!decider.isTimerDue(context()))
  }

  private mutating func apply(_ effects: ClickEffects) {
    parked.removeAll { effects.released.contains($0.identity) }
    parked += effects.parked.values
    parked.sort { $0.position < $1.position }
    clicks += effects.clicks
    conversions += effects.conversions
    for impression in effects.impressions { impressions[impression.serveID] = impression.shownAt }
    stopped += effects.stoppedActions.map {
      ActionIdentity(serveID: $0.terms.serveID, kind: $0.kind, idHash: $0.idHash)
    }
    ClickTracking.count(effects, into: &counts)
  }

  /// The verdict of each click, by its id.
  var verdicts: [UInt64: ClickVerdict] {
    Dictionary(clicks.map { ($0.accepted.idHash, $0.accepted.verdict) }) { first, _ in
      Issue.record("a click has two rows")
      return first
    }
  }
}
