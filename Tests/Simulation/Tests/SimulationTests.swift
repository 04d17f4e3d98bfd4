import Simulation
import Testing

@Suite("Simulated worlds")
struct SimulationTests {
  /// How many seeds the smoke runs; `make simulate` runs more.
  static let smokeSeeds: UInt64 = 1_000
  /// How many of them must bring a backup back that is older than an hour.
  private static let oldBackups = 10

  @Test("I1 to I8, M4: whatever goes wrong, the tables and the ledger hold what the devices did")
  func worlds() async throws {
    let report = try await Simulation.run(seeds: 1..<Self.smokeSeeds + 1)
    print("\(report.seeds) seeds; faults that happened:\n\(report.coverage.table)")
    #expect(report.failures.isEmpty, "\(report.failures.joined(separator: "\n"))")
    #expect(report.coverage.absent.isEmpty, "these faults never happened: \(report.coverage.absent)")
    #expect(report.coverage.counts[.restoredFromHourBefore, default: 0] >= Self.oldBackups)
  }

  /// Where the search begins for what few worlds show, so that it is short; whatever worlds become, it goes on from there.
  private static let firstSeeds: [Sabotage: UInt64] = [
    .countTwice: 660, .trustOldHeartbeat: 100, .stayOpen: 21_800, .sendBeforeTold: 1_150, .ignoreLosses: 870,
    .closeSilently: 50, .removeUnread: 60, .readOverCut: 90,
  ]

  @Test("A protocol that is broken on purpose is caught", arguments: Sabotage.allCases)
  func sabotage(_ sabotage: Sabotage) async throws {
    let first = Self.firstSeeds[sabotage] ?? 1
    let report = try await Simulation.run(seeds: first..<first + 2_000, sabotage: sabotage, failuresMaximum: 1)
    #expect(!report.failures.isEmpty, "nobody noticed \(sabotage)")
  }
}
