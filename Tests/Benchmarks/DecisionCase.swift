import AdCore
import AdEvents
import AdSelectionCore
import Dispatch
import Pipeline
import Records
import Synchronization
import TestValues
import Threads

/// One number of ads, with or without budget, as ``DecisionBenchmark`` measures it.
final class DecisionCase {
  private static let batchRecords = 200
  private static let headers = Workload.headers(
    .adRequested, id: UUIDv7(timestamp: DecisionWorkload.now, randomHigh: 0, randomLow: 0))

  let ads: Int
  let isSellable: Bool
  private let workload: DecisionWorkload
  private let source: CatalogSource
  private let requests: [DecisionWorkload.Asked]
  private var pauses: Int64 = 1

  init(_ workload: DecisionWorkload, _ source: CatalogSource, ads: Int, isSellable: Bool, requests: Int) {
    (self.workload, self.source, self.ads, self.isSellable) = (workload, source, ads, isSellable)
    self.requests = workload.requests(requests, of: Self.context(source).snapshot)
  }

  var name: String { name(ads: ads) }

  /// Of the same case among another number of ads.
  func name(ads: Int) -> String { "\(ads) ads, \(isSellable ? "budget" : "no budget")" }

  private static func context(_ source: CatalogSource, now: Timestamp = DecisionWorkload.now) -> DecisionContext {
    DecisionContext(
      snapshot: source.view(at: now).snapshot, freshness: .complete, now: now, seed: 1,
      serveIDRandom: (high: 0, low: 0))
  }

  /// Once to remember what is remembered after some minutes, once for the rate, once more with a look at the clock before
  /// and after each.
  private func measure<Value>(
    _ step: String, _ passes: [[Value]], into rounds: inout Rounds, _ body: (Int, Value) -> Void
  ) {
    for value in passes[0] { body(0, value) }
    let time = seconds { for value in passes[1] { body(1, value) } }
    var nanoseconds: [UInt64] = []
    nanoseconds.reserveCapacity(passes[2].count)
    for value in passes[2] {
      let start = DispatchTime.now().uptimeNanoseconds
      body(2, value)
      nanoseconds.append(DispatchTime.now().uptimeNanoseconds - start)
    }
    nanoseconds.sort()
    rounds.note("\(step), \(name)", Double(passes[1].count) / time)
    rounds.note("\(step) p50, \(name)", Double(nanoseconds[nanoseconds.count / 2]) / 1e3)
    rounds.note("\(step) p99, \(name)", Double(nanoseconds[nanoseconds.count * 99 / 100]) / 1e3)
  }

  // MARK: Chosen

  func choose(into rounds: inout Rounds) {
    var state = workload.state(isSellable: isSellable)
    let context = Self.context(source)
    measure("chosen", [requests, requests, requests], into: &rounds) { _ = Self.choose($1, &state, context) }
  }

  private static func choose(
    _ asked: DecisionWorkload.Asked, _ state: inout PartitionState, _ context: DecisionContext
  ) -> Explanation {
    let result = Auction.run(
      asked.query, requestID: asked.request.requestID, state: &state, paidAds: .served, context: context)
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
              ad, of: campaign, in: asked.app, request: asked.query.request, now: DecisionWorkload.now) == nil
          else { continue }
          let price = AdPrice(ad: ad.id, impression: campaign.impressionPrice, click: campaign.clickPrice)
          guard campaign.impressionPrice.value > best ?? -1,
            book.canReserve(campaign: campaign.id, price: price, now: DecisionWorkload.now)
          else { continue }
          best = campaign.impressionPrice.value
        }
        if best != nil { served += 1 }
      }
    }
    rounds.note("scanned, \(name)", Double(count) / time)
  }

  // MARK: Decided

  func decide(into rounds: inout Rounds) {
    var state = workload.state(isSellable: isSellable)
    // Further apart than anything is remembered: each pass is other requests of the same clients.
    let contexts = (0..<3).map {
      Self.context(source, now: DecisionWorkload.now.advanced(byMilliseconds: Int64($0) * 61_000))
    }
    let keys = workload.keyHashes
    let passes = contexts.map { context in
      workload.requests(requests.count, of: context.snapshot, at: context.now).enumerated().map { number, asked in
        Incoming(
          IncomingRequest(
            content: .sound(asked.request), appKeyHash: keys[asked.request.app], clientHash: UInt64(number),
            payload: [], isJSON: false, mark: []), at: context.now)
      }
    }
    measure("decided", passes, into: &rounds) { pass, incoming in
      _ = RequestDecision.decide(incoming.request, asked: incoming.asked, state: &state, context: contexts[pass])
    }
  }

  private final class Incoming: Sendable {
    let request: IncomingRequest
    let asked: AskedRequest

    init(_ request: IncomingRequest, at arrival: Timestamp) {
      self.request = request
      asked = request.asked(partition: 0, arrival: arrival)
    }
  }

  // MARK: Answered

  func answer(into rounds: inout Rounds) throws {
    let ring = try KeyRing(configuration: Surroundings.keys)
    var decider = SelectionDecider(
      stored: StoredState(), catalog: source, settings: SelectionSettings(), crypto: try SelectionCrypto(ring: ring),
      random: SeededChance(seed: 1))
    var decoder = try AdSelection(ring: ring).makeDecoder()
    let grants = isSellable ? workload.grants.map(SelectionInput.grant) : []
    _ = decider.decide(Self.records(grants), knowing: nil, context: Self.batch)
    let payloads = requests.map { $0.request.encoded() }
    let time = seconds {
      for start in stride(from: 0, to: payloads.count, by: Self.batchRecords) {
        let batch = payloads[start..<min(start + Self.batchRecords, payloads.count)]
        let inputs = batch.map { Self.decode($0, with: &decoder) }
        _ = decider.decide(Self.records(inputs), knowing: nil, context: Self.batch)
        _ = decider.committed(CommitResult())
      }
    }
    rounds.note("answered, \(name)", Double(payloads.count) / time)
  }

  private static func decode(_ payload: [UInt8], with decoder: inout SelectionDecoder) -> SelectionInput {
    decoder.begin()
    for header in headers {
      header.withUnsafeBytes { decoder.header(name: $0, value: $1) }
    }
    return payload.withUnsafeBytes { decoder.decode(input: 0, value: $0, arrival: DecisionWorkload.now).event }
  }

  private static func records(_ inputs: [SelectionInput]) -> [InputRecord<SelectionInput>] {
    inputs.enumerated().map { offset, event in
      InputRecord(
        input: 0, offset: Int64(offset), timestamp: 0, arrival: DecisionWorkload.now, sequence: .unnumbered,
        event: event,
        contentHash: 0, raw: RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0))
    }
  }

  private static var batch: BatchContext {
    BatchContext(
      partition: 0, partitionCount: 1, now: DecisionWorkload.now, batchNumber: 1, nextSequences: [1],
      committedWatermark: DecisionWorkload.now, watermark: DecisionWorkload.now, consumedWatermarks: [],
      isDuplicateSuspected: false)
  }

  // MARK: A pause

  /// From handing a pause over until a decision made meanwhile on another thread counts it; and the longest of those decisions,
  /// which waits for nobody unless its thread does.
  func pause(into rounds: inout Rounds) {
    let (seen, isDone, longest) = (Box(), Box(), Box())
    let asked = requests[0]
    let (workload, source) = (workload, source)
    let thread = OwnerThread("decisions") {
      var state = workload.state(isSellable: true)
      while isDone.value.load(ordering: .relaxed) == 0 {
        let start = DispatchTime.now().uptimeNanoseconds
        let explanation = Self.choose(asked, &state, Self.context(source))
        longest.value.max(Int(DispatchTime.now().uptimeNanoseconds - start), ordering: .relaxed)
        seen.value.store(explanation[.paused], ordering: .relaxed)
      }
    }
    var campaign = workload.campaigns[workload.campaigns.count / 2]
    campaign.isPaused = false
    pauses += 1
    source.apply([.message(.record(.campaign(campaign), version: pauses))], now: DecisionWorkload.now)
    var state = workload.state(isSellable: false)
    let running = Self.choose(asked, &state, Self.context(source))[.paused]
    while seen.value.load(ordering: .relaxed) != running {}
    campaign.isPaused = true
    pauses += 1
    longest.value.store(0, ordering: .relaxed)
    let time = seconds {
      source.apply([.message(.record(.campaign(campaign), version: pauses))], now: DecisionWorkload.now)
      while seen.value.load(ordering: .relaxed) == running {}
    }
    let longestNanoseconds = longest.value.load(ordering: .relaxed)
    isDone.value.store(1, ordering: .relaxed)
    thread.join()
    rounds.note("pause seen, \(ads) ads", time * 1e3)
    rounds.note("longest decision meanwhile, \(ads) ads", Double(longestNanoseconds) / 1e3)
  }

  /// A number that two threads share.
  private final class Box: Sendable {
    let value = Atomic(0)
  }
}
