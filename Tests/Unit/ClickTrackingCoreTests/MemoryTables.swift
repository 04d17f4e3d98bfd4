import AdCore
import AdEvents
import Testing

@testable import ClickTrackingCore
@testable import Pipeline

/// Click tracking's tables in memory, and one partition that works on them as the pipeline would.
struct MemoryTables {
  struct Click: Hashable {
    var sequence: Int64
    var accepted: AcceptedClick
    var wasParked: Bool
  }

  let windows: Windows
  var decider: ClickDecider
  var clicks: [Click] = []
  var parked: [ParkedClick] = []
  var impressions: [ServeID: Timestamp] = [:]
  var stopped: [ActionIdentity] = []
  var counts: [MinuteKey: Int64] = [:]
  var batchNumber: Int64 = 0
  var nextOffset: Int64 = 0
  var takenWatermark = Timestamp(milliseconds: 0)
  var arrival = Samples.now.advanced(byMilliseconds: 3_600_000)

  init(windows: Windows = Windows()) {
    self.windows = windows
    decider = ClickDecider(windows: windows, parked: [:])
  }

  /// As a new owner of the partition would find it.
  mutating func reload() {
    decider = ClickDecider(
      windows: windows,
      parked: Dictionary(parked.map { ($0.terms.serveID, $0.terms.expiresAt) }, uniquingKeysWith: max))
  }

  func context(isRefused: Bool = false) -> BatchContext {
    BatchContext(
      partition: Samples.partition, partitionCount: 12, now: arrival, batchNumber: batchNumber + 1,
      nextSequences: [Int64(clicks.count) + 1], committedWatermark: Timestamp(milliseconds: 0),
      watermark: Timestamp(milliseconds: 0), takenWatermarks: [Timestamp(milliseconds: 0), takenWatermark],
      isRefused: isRefused, isDuplicateSuspected: false)
  }

  func answer(_ query: ClickQuery) -> ClickKnowledge {
    var known = ClickKnowledge()
    let stored = clicks.map { ParkedClick($0.accepted).identity } + stopped
    known.identities = query.identities.intersection(stored)
    for id in query.serves {
      var serve = ServeClicks()
      let decided = clicks.filter { $0.accepted.terms.serveID == id }
      serve.shownAt = impressions[id]
      serve.decidedCount = min(decided.count, ServeClicks.decidedMaximum)
      serve.hasBillable = decided.contains { $0.accepted.verdict == .billable }
      if query.parked.contains(id) { serve.parked = parked.filter { $0.terms.serveID == id } }
      known.serves[id] = serve
    }
    for (client, span) in query.clients {
      known.counted[client] = clicks.filter {
        $0.accepted.terms.clientHash == client && $0.accepted.verdict == .billable
          && span.contains($0.accepted.eventTime)
      }.map(\.accepted.eventTime)
    }
    return known
  }

  /// Decides a batch; `isLost`: its commit fails, and it is taken back.
  @discardableResult
  mutating func run(
    _ events: [ClickInput], isLost: Bool = false, isRefused: Bool = false
  ) -> Decision<ClickEffects> {
    let records = events.enumerated().map { index, event in
      InputRecord(
        input: 0, offset: nextOffset + Int64(index), timestamp: arrival.milliseconds, arrival: arrival,
        mark: .unnumbered, event: event, contentHash: 0,
        raw: RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0))
    }
    let context = context(isRefused: isRefused)
    let query = decider.query(for: records, context: context)
    let decision = decider.decide(records, knowing: query.map(answer), context: context)
    if isLost {
      let isReverted = decider.revert()
      #expect(isReverted)
      return decision
    }
    decider.committed(CommitResult())
    apply(decision.effects)
    batchNumber += 1
    nextOffset += Int64(events.count)
    return decision
  }

  private mutating func apply(_ effects: ClickEffects) {
    parked += effects.parked.values.joined()
    parked.removeAll { effects.released.contains($0.terms.serveID) }
    parked.sort { ($0.batchNumber, $0.offset) < ($1.batchNumber, $1.offset) }
    clicks += effects.clicks.map { Click(sequence: $0.sequence, accepted: $0.accepted, wasParked: $0.wasParked) }
    for impression in effects.impressions { impressions[impression.serveID] = impression.shownAt }
    stopped += effects.stoppedActions.map {
      ActionIdentity(serveID: $0.terms.serveID, kind: $0.kind, idHash: $0.idHash)
    }
    counts.merge(effects.counts, uniquingKeysWith: +)
  }

  /// The verdict of each click, by its id.
  var verdicts: [UInt64: ClickVerdict] {
    Dictionary(clicks.map { ($0.accepted.idHash, $0.accepted.verdict) }) { first, _ in
      Issue.record("a click has two rows")
      return first
    }
  }
}

extension ParkedClick {
  init(_ click: AcceptedClick) {
    self.init(
      terms: click.terms, idHash: click.idHash, eventTime: click.eventTime, arrival: click.arrival,
      isAccidental: false, batchNumber: 0, offset: 0)
  }
}
