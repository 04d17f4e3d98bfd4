import Foundation
import LocalProcesses
import Runtime
import TestServers

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
    let parts = Set(
      (environment["BENCH_PARTS"] ?? "takeover,day,decisions,selection,edge,chain,tracking,replays").split(
        separator: ","))
    var results: [BenchmarkResult] = []
    if parts.contains("decisions") { results += try await onOwnThread { try DecisionBenchmark().run() } }
    // What is decided in process needs no servers.
    if parts != ["decisions"] { results += try await measure(parts) }
    BenchmarkReport.print(results)
    try BenchmarkReport.write(results, to: ".build/bench/results.json")
  }

  private static func measure(_ parts: Set<Substring>) async throws -> [BenchmarkResult] {
    let environment = ProcessInfo.processInfo.environment
    let impressions = environment["BENCH_IMPRESSIONS"].flatMap(Int.init) ?? 400_000
    progress("starting Kafka and PostgreSQL")
    let surroundings = try await Surroundings.start()
    var results: [BenchmarkResult] = []
    if parts.contains("takeover") {
      // Before any other, while the topics are empty.
      let rows = environment["BENCH_HISTORY"].flatMap(Int64.init) ?? 10_000_000
      results += try await onOwnThread { try TakeoverBenchmark(surroundings: surroundings, rows: rows).run() }
    }
    if parts.contains("day") {
      let serves = environment["BENCH_DAY"].flatMap(Int64.init) ?? 10_000_000
      let database = try await surroundings.database("day")
      results += try await onOwnThread {
        try DayBenchmark(partitions: Surroundings.partitions, serves: serves).run(database)
      }
    }
    // Before tracking, whose accepted impressions keep billing busy.
    if parts.contains("selection") {
      results += try await onOwnThread { try SelectionBenchmark(surroundings: surroundings).run() }
    }
    if parts.contains("edge") {
      results += try await onOwnThread { try EdgeBenchmark(surroundings: surroundings).run() }
    }
    if parts.contains("chain") {
      let ads = environment["BENCH_ADS"].flatMap(Int.init) ?? 100_000
      results += try await onOwnThread { try ChainBenchmark(surroundings: surroundings, ads: ads).run() }
    }
    if parts.contains("tracking") {
      results += try await onOwnThread {
        try TrackingBenchmark(surroundings: surroundings, impressions: impressions).run()
      }
    }
    if parts.contains("replays") {
      results += try await onOwnThread {
        try ReplayBenchmark(surroundings: surroundings, impressions: impressions).run()
      }
    }
    try await surroundings.postgres.stop()
    try await surroundings.kafka.stop()
    return results
  }
}
