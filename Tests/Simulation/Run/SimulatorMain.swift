import Foundation
import Simulation
import Synchronization

/// Runs many worlds: `SEEDS=n` of them from the first seed on, or the one of `SEED=n`, and prints how often each fault
/// was hit. `SABOTAGE=name` breaks a step of the protocol on purpose. Exit code 1, with what it takes to replay them, when a world fails or a fault never happened.
@main
enum SimulatorMain {
  /// Fewer seeds cannot show every fault.
  private static let seedsOfFullCoverage = 1_000

  static func main() async throws {
    let only = Simulation.setting("SEED")
    let count = only == nil ? Simulation.setting("SEEDS") ?? 10_000 : 1
    let first = only ?? Simulation.setting("FIRST_SEED") ?? 1
    let sabotage = ProcessInfo.processInfo.environment["SABOTAGE"].flatMap(Sabotage.init)
    let progress = Progress(total: count)
    let report = try await Simulation.run(seeds: first..<first + count, sabotage: sabotage) {
      progress.note(isFailure: $0)
    }
    print("\(report.seeds) seeds from \(first) on; faults that happened:\n\(report.coverage.table)")
    for failure in report.failures { print("\(failure)\n    replay it: make simulate SEED=\(seed(of: failure))") }
    let absent = report.seeds >= seedsOfFullCoverage ? report.coverage.absent : []
    if !absent.isEmpty { print("these faults never happened: \(absent)") }
    print(report.failures.isEmpty && absent.isEmpty ? "no differences" : "FAILED")
    if !report.failures.isEmpty || !absent.isEmpty { exit(1) }
  }

  private static func seed(of failure: String) -> Substring {
    failure.drop { !$0.isNumber }.prefix { $0.isNumber }
  }

  /// Tells on the error output how far it is, now and then.
  private final class Progress: Sendable {
    private let total: UInt64
    private let counts = Mutex((done: UInt64(0), failed: UInt64(0)))

    init(total: UInt64) { self.total = total }

    func note(isFailure: Bool) {
      let now = counts.withLock { counts in
        counts.done += 1
        if isFailure { counts.failed += 1 }
        return counts
      }
      guard now.done % max(1, min(1_000, total / 20)) == 0 else { return }
      FileHandle.standardError.write(Data("\(now.done) of \(total) seeds, \(now.failed) failed\n".utf8))
    }
  }
}
