import Foundation
import LocalProcesses
import Runtime
import Threads

/// Measures on a real Kafka and a real PostgreSQL, each figure beside a limit from the same run.
@main
enum BenchmarksMain {
  static func main() async {
    do { try await measure() } catch {
      progress("\(error)")
      exit(ExitCode.unavailable.rawValue)
    }
  }

  private static func measure() async throws {
    let environment = ProcessInfo.processInfo.environment
    let impressions = environment["BENCH_IMPRESSIONS"].flatMap(Int.init) ?? 400_000
    let parts = Set(
      (environment["BENCH_PARTS"] ?? "takeover,decisions,selection,chain,tracking,replays").split(separator: ","))
    progress("starting Kafka and PostgreSQL")
    let surroundings = try await Surroundings.start()
    var results: [BenchmarkResult] = []
    if parts.contains("takeover") {
      // Before any other, while the topics are empty.
      let rows = environment["BENCH_HISTORY"].flatMap(Int64.init) ?? 10_000_000
      results += try await onThread { try TakeoverBenchmark(surroundings: surroundings, rows: rows).run() }
    }
    if parts.contains("decisions") {
      results += try await onThread { try DecisionBenchmark().run() + IndexBenchmark().run() }
    }
    // Before tracking, whose accepted impressions keep billing busy.
    if parts.contains("selection") {
      results += try await onThread { try SelectionBenchmark(surroundings: surroundings).run() }
    }
    if parts.contains("chain") {
      let ads = environment["BENCH_ADS"].flatMap(Int.init) ?? 100_000
      results += try await onThread { try ChainBenchmark(surroundings: surroundings, ads: ads).run() }
    }
    if parts.contains("tracking") {
      results += try await onThread {
        try TrackingBenchmark(surroundings: surroundings, impressions: impressions).run()
      }
    }
    if parts.contains("replays") {
      results += try await onThread {
        try ReplayBenchmark(surroundings: surroundings, impressions: impressions).run()
      }
    }
    BenchmarkReport.print(results)
    try BenchmarkReport.write(results, to: ".build/bench/results.json")
    try await surroundings.postgres.stop()
    try await surroundings.kafka.stop()
  }

  /// Runs what blocks on a thread of its own.
  private static func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result
  {
    try await withCheckedThrowingContinuation { continuation in
      _ = OwnerThread("benchmark") { continuation.resume(with: Swift.Result { try body() }) }
    }
  }
}
