import Foundation
import Synchronization

/// Worlds under many seeds.
package enum Simulation {
  package struct Report: Sendable {
    package var seeds = 0
    package var coverage = Coverage()
    package var failures: [String] = []
  }

  /// Runs the worlds of these seeds, on all processors, until some failed.
  ///
  /// - Parameter progress: called after each seed, from any thread, with what is told of a world that failed.
  package static func run(
    seeds: Range<UInt64>, sabotage: Sabotage? = nil, failuresMaximum: Int = 5,
    progress: @escaping @Sendable (String?) -> Void = { _ in }
  ) async throws -> Report {
    let wanted = WantedFailures(failuresMaximum)
    let lanes = UInt64(max(1, ProcessInfo.processInfo.activeProcessorCount))
    return try await withThrowingTaskGroup(of: Report.self) { group in
      for lane in 0..<lanes {
        group.addTask {
          let own = stride(from: seeds.lowerBound + lane, to: seeds.upperBound, by: Int(lanes))
          return try run(own, sabotage, wanted, progress)
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
    _ seeds: StrideTo<UInt64>, _ sabotage: Sabotage?, _ wanted: WantedFailures, _ progress: (String?) -> Void
  ) throws -> Report {
    var report = Report()
    let fixture = try Fixture()
    for seed in seeds {
      if wanted.isOver { break }
      let world = try World(seed: seed, sabotage: sabotage, fixture: fixture)
      world.run()
      report.seeds += 1
      report.coverage.merge(world.coverage)
      let failure = world.failures.isEmpty ? nil : "SEED=\(seed): " + world.failures.joined(separator: "\n    ")
      progress(failure)
      guard let failure else { continue }
      report.failures.append(failure)
      wanted.found()
    }
    return report
  }
}

/// How many failures are still wanted, of all processors together.
private final class WantedFailures: Sendable {
  private let left: Mutex<Int>

  init(_ count: Int) { left = Mutex(count) }

  var isOver: Bool { left.withLock { $0 <= 0 } }

  func found() { left.withLock { $0 -= 1 } }
}
