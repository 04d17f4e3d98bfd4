import AdCore
import TestValues
import Testing

@testable import AdSelectionCore

@Suite("What is remembered of requests")
struct RememberedMatchesTests {
  private static let segments = ["hikers", "sailors", "climbers"]
  private static let bytesMaximum = 60_000

  /// All requests that differ to the rules, again and again in another order, while ads are paused and go on.
  @Test("a flood of different requests stays within its bound, and each is judged as ad by ad")
  func flood() throws {
    var world = try IndexWorld(seed: 3, ads: 300)
    let index = AdIndex(
      world.source.view(at: world.now).snapshot.base.index.candidates, rememberedBytesMaximum: Self.bytesMaximum)
    var liveness = Liveness(index, now: world.now)
    var largest = 0
    var wasForgotten = false
    for _ in 0..<600 {
      let position = world.random.number(0...index.candidates.count - 1)
      liveness.set(position, isPaused: world.random.number(0...1) == 0, isGone: nil, in: index)
      let asked = try world.ask()
      var request = asked.request
      request.segments = Self.segments.filter { _ in world.random.number(0...1) == 0 }
      let query = AdQuery(request, in: AppClass(AdEligibility.AppProfile(asked.app)))
      let before = index.rememberedBytes
      let matches = index.matches(for: query, liveness: liveness)
      wasForgotten = wasForgotten || index.rememberedBytes < before
      largest = max(largest, index.rememberedBytes)
      check(matches, query, liveness, index)
    }
    #expect(wasForgotten && largest <= Self.bytesMaximum)
  }

  @Test("a partition that nobody asks keeps no catalogue that others have gone on from, and goes on when it is asked")
  func idlePartition() throws {
    let samples = try Samples()
    var state = PartitionState()
    weak var old: AdIndex?
    do {
      let snapshot = samples.snapshot()
      old = snapshot.base.index
      state.followAllotments(of: snapshot, now: Samples.now)
      #expect(state.sellable.base.index === old)
    }
    #expect(old == nil)
    let snapshot = samples.snapshot()
    state.followAllotments(of: snapshot, now: Samples.now)
    #expect(state.sellable.base.index === snapshot.base.index)
  }

  private func check(_ matches: AdMatches, _ query: AdQuery, _ liveness: Liveness, _ index: AdIndex) {
    var counts = ReasonCounts()
    var live = 0
    for (position, candidate) in index.candidates.enumerated() {
      if position % 64 == 0 { #expect(matches.liveCount(before: position / 64, liveness.live.words) == live) }
      switch liveness.standing(of: position, in: index) {
      case .gone: break
      case .stopped(let reason): counts[reason] += 1
      case .live:
        let reason = AdEligibility.reasonAgainst(candidate.subject, for: query.request, in: query.app.profile)
        counts[reason] += 1
        if reason == nil { live += 1 }
      }
    }
    #expect(matches.tally.all == counts)
  }

  @Test("a request that comes again is counted on by what was paused since, and takes no more memory")
  func again() throws {
    // More than two blocks of 1,024, for which live ads are counted apart.
    var world = try IndexWorld(seed: 4, ads: 2_300)
    let index = AdIndex(world.source.view(at: world.now).snapshot.base.index.candidates)
    #expect(index.candidates.count > 2_048)
    var liveness = Liveness(index, now: world.now)
    let asked = try world.ask()
    let query = AdQuery(asked.request, in: AppClass(AdEligibility.AppProfile(asked.app)))
    _ = index.matches(for: query, liveness: liveness)
    let bytes = index.rememberedBytes
    for position in stride(from: 0, to: index.candidates.count, by: 61) {
      liveness.set(position, isPaused: true, isGone: nil, in: index)
      check(index.matches(for: query, liveness: liveness), query, liveness, index)
    }
    #expect(index.rememberedBytes == bytes)
  }

  @Test("the same values are one set, in whatever order and however often they are named, and others are another")
  func valueSets() {
    var random = SeededChance(seed: 5)
    var known: [Set<Int32>: ValueSet] = [:]
    for _ in 0..<2_000 {
      let numbers = (0..<random.number(0...7)).map { _ in Int32(random.number(0...5)) }
      let set = numbers.reduce(into: ValueSet()) { $0.insert($1) }
      #expect(known[Set(numbers), default: set] == set)
      known[Set(numbers)] = set
    }
    #expect(known.count == 64 && Set(known.values).count == 64)
  }
}
