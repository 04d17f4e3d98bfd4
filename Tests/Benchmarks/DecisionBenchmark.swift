import AdCore
import AdEvents
import AdSelectionCore

/// Decisions a second of one thread, and how long one takes at most but for one in a hundred, among more and more ads,
/// with budget at hand and with none; and how long it takes until a pause is seen by whoever decides meanwhile. From the
/// inside out:
///
/// * *chosen*: the rules of all ads, what can be sold, the tie-break, the explanation, and the reservation;
/// * *decided*: all that is decided of a request besides: its key, whether it came before, its app's cap, its sizes,
///   throttling; and what is served, with its terms;
/// * *answered*: all that a service does between reading a record and the database: the request decoded, decided, its token
///   issued, its answer encoded, in batches.
struct DecisionBenchmark {
  private static let sizes = [1_000, 10_000, 100_000]
  private static let requests = 40_000
  private static let scannedAds = 400_000

  func run() throws -> [BenchmarkResult] {
    progress("deciding in process")
    var cases: [DecisionCase] = []
    for ads in Self.sizes {
      let workload = DecisionWorkload(ads: ads)
      let source = workload.source()
      cases += [true, false].map {
        DecisionCase(workload, source, ads: ads, isSellable: $0, requests: Self.requests)
      }
    }
    var rounds = Rounds()
    for _ in 0..<Rounds.count {
      for one in cases {
        one.choose(into: &rounds)
        one.decide(into: &rounds)
        try one.answer(into: &rounds)
        one.scan(max(1, Self.scannedAds / one.ads), into: &rounds)
      }
      for one in cases where one.isSellable { one.pause(into: &rounds) }
      try issue(into: &rounds)
    }
    return cases.flatMap { one in
      [
        rounds.result("chosen, \(one.name)", "ads/s", beside: "scanned, \(one.name)"),
        rounds.result("chosen p50, \(one.name)", "us"),
        rounds.result(
          "chosen p99, \(one.name)", "us",
          beside: one.ads == Self.sizes.max() ? "chosen p99, \(one.name(ads: Self.sizes[1]))" : nil),
        rounds.result("decided, \(one.name)", "requests/s"),
        rounds.result("decided p50, \(one.name)", "us"), rounds.result("decided p99, \(one.name)", "us"),
        rounds.result("answered, \(one.name)", "requests/s", beside: "tokens issued"),
      ]
        + (one.isSellable
          ? [
            rounds.result("pause seen, \(one.ads) ads", "ms"),
            rounds.result("longest decision meanwhile, \(one.ads) ads", "us"),
          ] : [])
    }
  }

  /// Without a token no ad is served.
  private func issue(into rounds: inout Rounds) throws {
    var workload = try Workload(partitions: 1, ring: KeyRing(configuration: Surroundings.keys), seed: 1)
    guard let terms = workload.terms(issuedAt: DecisionWorkload.now) else { return }
    var bytes = 0
    let time = seconds { for _ in 0..<Self.requests { bytes += workload.token(terms).count } }
    if bytes > 0 { rounds.note("tokens issued", Double(Self.requests) / time) }
  }
}
