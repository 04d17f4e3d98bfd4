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
    let only = setting("SEED", "a number") { UInt64($0) }
    let count = only == nil ? setting("SEEDS", "a number") { UInt64($0) } ?? 10_000 : 1
    let first = only ?? setting("FIRST_SEED", "a number") { UInt64($0) } ?? 1
    let names = Sabotage.allCases.map(\.rawValue).joined(separator: ", ")
    let sabotage = setting("SABOTAGE", "one of \(names)") { Sabotage(rawValue: $0) }
    let progress = Progress(total: count)
    let report = try await Simulation.run(seeds: first..<first + count, sabotage: sabotage) {
      progress.note(failure: $0)
    }
    print("\(report.seeds) seeds from \(first) on; faults that happened:\n\(report.coverage.table)")
    for failure in report.failures { print("\(failure)\n    replay it: make simulate SEED=\(seed(of: failure))") }
    let absent = report.seeds >= seedsOfFullCoverage ? report.coverage.absent : []
    if !absent.isEmpty { print("these faults never happened: \(absent)") }
    print(report.failures.isEmpty && absent.isEmpty ? "no differences" : "FAILED")
    if !report.failures.isEmpty || !absent.isEmpty { exit(1) }
  }

  /// From the environment; nil where it is not set. A run that was meant to be another must not pass: what cannot be
  /// read ends it with exit code 64.
  private static func setting<Value>(_ name: String, _ what: String, read: (String) -> Value?) -> Value? {
    guard let text = ProcessInfo.processInfo.environment[name], !text.isEmpty else { return nil }
    if let value = read(text) { return value }
    FileHandle.standardError.write(Data("\(name)=\(text): it must be \(what)\n".utf8))
    exit(64)
  }

  private static func seed(of failure: String) -> Substring {
    failure.drop { !$0.isNumber }.prefix { $0.isNumber }
  }

  /// Tells on the error output how far it is, now and then.
  private final class Progress: Sendable {
    private let total: UInt64
    private let counts = Mutex((done: UInt64(0), failed: UInt64(0)))

    init(total: UInt64) { self.total = total }

    /// - Parameter failure: what is told at once of a world that failed.
    func note(failure: String?) {
      let now = counts.withLock { counts in
        counts.done += 1
        if failure != nil { counts.failed += 1 }
        return counts
      }
      if let failure { FileHandle.standardError.write(Data("\(failure)\n".utf8)) }
      guard now.done % max(1, min(1_000, total / 20)) == 0 else { return }
      FileHandle.standardError.write(Data("\(now.done) of \(total) seeds, \(now.failed) failed\n".utf8))
    }
  }
}
