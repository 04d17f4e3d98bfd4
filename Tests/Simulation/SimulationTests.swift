import Foundation
import Testing

/// Worlds under many seeds.
enum Simulation {
  struct Report: Sendable {
    var coverage = Coverage()
    var failures: [String] = []
  }

  /// Runs the worlds of these seeds, on all processors, until some failed.
  static func run(seeds: Range<UInt64>, sabotage: Sabotage? = nil, failuresMaximum: Int = 5) async throws -> Report {
    let lanes = UInt64(max(1, ProcessInfo.processInfo.activeProcessorCount))
    return try await withThrowingTaskGroup(of: Report.self) { group in
      for lane in 0..<lanes {
        group.addTask {
          try run(
            stride(from: seeds.lowerBound + lane, to: seeds.upperBound, by: Int(lanes)), sabotage, failuresMaximum)
        }
      }
      var report = Report()
      for try await part in group {
        report.coverage.merge(part.coverage)
        report.failures += part.failures
      }
      return report
    }
  }

  private static func run(
    _ seeds: StrideTo<UInt64>, _ sabotage: Sabotage?, _ failuresMaximum: Int
  ) throws -> Report {
    var report = Report()
    let fixture = try Fixture()
    for seed in seeds {
      let world = World(seed: seed, sabotage: sabotage, fixture: fixture)
      world.run()
      report.coverage.merge(world.coverage)
      guard !world.failures.isEmpty else { continue }
      report.failures.append("SEED=\(seed): " + world.failures.joined(separator: "\n    "))
      if report.failures.count >= failuresMaximum { break }
    }
    return report
  }

  /// From the environment, as a number.
  static func setting(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
}

@Suite("Simulated worlds")
struct SimulationTests {
  /// How many seeds the smoke runs; SIMULATION_SEEDS runs more, SEED one alone.
  static let smokeSeeds: UInt64 = 1_000

  @Test("I3, I4, M4: whatever goes wrong, the tables hold what the devices did")
  func worlds() async throws {
    if let seed = Simulation.setting("SEED") {
      let report = try await Simulation.run(seeds: seed..<seed + 1)
      #expect(report.failures.isEmpty, "\(report.failures.joined(separator: "\n"))")
      return
    }
    let count = Simulation.setting("SIMULATION_SEEDS") ?? Self.smokeSeeds
    let report = try await Simulation.run(seeds: 1..<count + 1)
    print("\(count) seeds; faults that happened:\n\(report.coverage.table)")
    #expect(report.failures.isEmpty, "\(report.failures.joined(separator: "\n"))")
    // A few seeds cannot show everything.
    guard count >= Self.smokeSeeds else { return }
    #expect(report.coverage.absent.isEmpty, "these faults never happened: \(report.coverage.absent)")
  }

  @Test("A protocol that is broken on purpose is caught", arguments: Sabotage.allCases)
  func sabotage(_ sabotage: Sabotage) async throws {
    let report = try await Simulation.run(seeds: 1..<2_000, sabotage: sabotage, failuresMaximum: 1)
    #expect(!report.failures.isEmpty, "nobody noticed \(sabotage)")
  }
}
