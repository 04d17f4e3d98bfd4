import AdCore
import AdEvents
import AdSelectionCore
import Dispatch
import Synchronization
import Threads

/// The choice of an ad with its reservation, alone: how often a second, and how long it takes at most but for one in a
/// hundred, among more and more ads, with budget at hand and with none; beside asking the rules ad by ad. And how long it
/// takes until a pause is seen by whoever decides meanwhile.
struct IndexBenchmark {
  private static let sizes = [1_000, 10_000, 100_000]
  private static let requests = 40_000
  private static let scannedAds = 400_000

  func run() -> [BenchmarkResult] {
    var cases: [Case] = []
    for ads in Self.sizes {
      let workload = IndexWorkload(ads: ads)
      let source = workload.source()
      for isSellable in [true, false] { cases.append(Case(workload, source, ads: ads, isSellable: isSellable)) }
    }
    var rounds = Rounds()
    for _ in 0..<Rounds.count {
      for one in cases {
        one.decide(Self.requests, into: &rounds)
        one.scan(max(1, Self.scannedAds / one.ads), into: &rounds)
      }
      for one in cases where one.isSellable { one.pause(into: &rounds) }
    }
    return cases.flatMap { one in
      [
        rounds.result("decisions, \(one.name)", "decisions/s", beside: "scanned, \(one.name)"),
        rounds.result("p50, \(one.name)", "us"), rounds.result("p99, \(one.name)", "us"),
      ] + (one.isSellable ? [rounds.result("pause seen, \(one.ads) ads", "ms")] : [])
    }
  }
}

extension IndexBenchmark {
  /// One size, with or without budget.
  final class Case {
    let ads: Int
    let isSellable: Bool
    private let workload: IndexWorkload
    private let source: CatalogSource
    private let context: DecisionContext
    private let requests: [IndexWorkload.Asked]
    private var pauses: Int64 = 1

    init(_ workload: IndexWorkload, _ source: CatalogSource, ads: Int, isSellable: Bool) {
      (self.workload, self.source, self.ads, self.isSellable) = (workload, source, ads, isSellable)
      context = Self.context(source)
      requests = workload.requests(IndexBenchmark.requests, of: context.snapshot)
    }

    var name: String { "\(ads) ads, \(isSellable ? "budget" : "no budget")" }

    private static func context(_ source: CatalogSource) -> DecisionContext {
      let view = source.view(at: IndexWorkload.now)
      return DecisionContext(
        snapshot: view.snapshot, freshness: view.freshness, now: IndexWorkload.now, seed: 1,
        serveIDRandom: (high: 0, low: 0))
    }

    func decide(_ count: Int, into rounds: inout Rounds) {
      var state = workload.state(isSellable: isSellable)
      // What is remembered of requests is there, as after some minutes.
      for asked in requests { _ = Self.choose(asked, &state, context) }
      let time = seconds { for asked in requests { _ = Self.choose(asked, &state, context) } }
      // Again, looking at the clock before and after each.
      var nanoseconds: [UInt64] = []
      nanoseconds.reserveCapacity(count)
      for asked in requests {
        let start = DispatchTime.now().uptimeNanoseconds
        _ = Self.choose(asked, &state, context)
        nanoseconds.append(DispatchTime.now().uptimeNanoseconds - start)
      }
      nanoseconds.sort()
      rounds.note("decisions, \(name)", Double(count) / time)
      rounds.note("p50, \(name)", Double(nanoseconds[count / 2]) / 1e3)
      rounds.note("p99, \(name)", Double(nanoseconds[count * 99 / 100]) / 1e3)
    }

    private static func choose(
      _ asked: IndexWorkload.Asked, _ state: inout PartitionState, _ context: DecisionContext
    ) -> Explanation {
      let result = Auction.run(
        asked.query, requestID: asked.id, state: &state, arePaidAdsSuspended: false, context: context)
      if let place = result.winner {
        let ad = context.snapshot.candidate(at: place)
        if !ad.isHouse { _ = state.allotments.reserve(campaign: ad.campaign, price: ad.price, now: context.now) }
      }
      return result.explanation
    }

    /// The rules, ad by ad, and the best of those that have an allotment.
    func scan(_ count: Int, into rounds: inout Rounds) {
      let book = workload.state(isSellable: isSellable).allotments
      let campaigns = Dictionary(uniqueKeysWithValues: workload.campaigns.map { ($0.id, $0) })
      var served = 0
      let time = seconds {
        for asked in requests.prefix(count) {
          var best: Int64?
          for ad in workload.ads {
            guard let campaign = campaigns[ad.campaign],
              AdEligibility.reasonAgainst(
                ad, of: campaign, in: asked.app, request: asked.query.request, now: IndexWorkload.now) == nil
            else { continue }
            let price = AdPrice(ad: ad.id, impression: campaign.impressionPrice, click: campaign.clickPrice)
            guard campaign.impressionPrice.value > best ?? -1,
              book.canReserve(campaign: campaign.id, price: price, now: IndexWorkload.now)
            else { continue }
            best = campaign.impressionPrice.value
          }
          if best != nil { served += 1 }
        }
      }
      rounds.note("scanned, \(name)", Double(count) / time)
    }

    /// From handing a pause over until a decision made meanwhile on another thread counts it.
    func pause(into rounds: inout Rounds) {
      let (seen, isDone) = (Box(), Box())
      let asked = requests[0]
      let workload = workload
      let source = source
      let thread = OwnerThread("decisions") {
        var state = workload.state(isSellable: true)
        while isDone.value.load(ordering: .relaxed) == 0 {
          let explanation = Self.choose(asked, &state, Self.context(source))
          seen.value.store(explanation[.paused], ordering: .relaxed)
        }
      }
      var campaign = workload.campaigns[workload.campaigns.count / 2]
      campaign.isPaused = false
      pauses += 1
      source.apply([.message(.record(.campaign(campaign), version: pauses))], now: IndexWorkload.now)
      var state = workload.state(isSellable: false)
      let running = Self.choose(asked, &state, Self.context(source))[.paused]
      while seen.value.load(ordering: .relaxed) != running {}
      campaign.isPaused = true
      pauses += 1
      let time = seconds {
        source.apply([.message(.record(.campaign(campaign), version: pauses))], now: IndexWorkload.now)
        while seen.value.load(ordering: .relaxed) == running {}
      }
      isDone.value.store(1, ordering: .relaxed)
      thread.join()
      rounds.note("pause seen, \(ads) ads", time * 1e3)
    }
  }

  /// A number that two threads share.
  private final class Box: Sendable {
    let value = Atomic(0)
  }
}
