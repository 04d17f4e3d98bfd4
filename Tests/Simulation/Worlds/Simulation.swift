import Foundation

/// Worlds under many seeds.
package enum Simulation {
  package struct Report: Sendable {
    package var seeds = 0
    package var coverage = Coverage()
    package var failures: [String] = []
  }

  /// Runs the worlds of these seeds, on all processors, until some failed.
  ///
  /// - Parameter progress: called after each seed, from any thread, with whether it failed.
  package static func run(
    seeds: Range<UInt64>, sabotage: Sabotage? = nil, failuresMaximum: Int = 5,
    progress: @escaping @Sendable (Bool) -> Void = { _ in }
  ) async throws -> Report {
    let lanes = UInt64(max(1, ProcessInfo.processInfo.activeProcessorCount))
    return try await withThrowingTaskGroup(of: Report.self) { group in
      for lane in 0..<lanes {
        group.addTask {
          let own = stride(from: seeds.lowerBound + lane, to: seeds.upperBound, by: Int(lanes))
          return try run(own, sabotage, failuresMaximum, progress)
        }
      }
      var report = Report()
      for try await part in group {
        report.seeds += part.seeds
        report.coverage.merge(part.coverage)
        report.failures += part.failures
      }
      return report
    }
  }

  private static func run(
    _ seeds: StrideTo<UInt64>, _ sabotage: Sabotage?, _ failuresMaximum: Int, _ progress: (Bool) -> Void
  ) throws -> Report {
    var report = Report()
    let fixture = try Fixture()
    for seed in seeds {
      let world = try World(seed: seed, sabotage: sabotage, fixture: fixture)
      world.run()
      report.seeds += 1
      report.coverage.merge(world.coverage)
      progress(!world.failures.isEmpty)
      guard !world.failures.isEmpty else { continue }
      report.failures.append("SEED=\(seed): " + world.failures.joined(separator: "\n    "))
      if report.failures.count >= failuresMaximum { break }
    }
    return report
  }
}
