import Foundation
import LocalProcesses
import Runtime

/// Makes faults with real brokers, databases and services, and compares all accounts after each.
@main
enum FaultsMain {
  static let command = Command(
    "faults", summary: "Makes faults with real processes, and compares all accounts after each.",
    discussion: """
      Each fault is made while simulated devices are busy. Afterwards everything must be decided, and all accounts must
      agree with each other and with the devices' own. Needs a Kafka (KAFKA_HOME).
      """,
    options: [
      .value("seeds", "NUMBERS", default: "1", help: "What decides where and when: numbers divided by commas."),
      .value("only", "NAMES", help: "These faults only, divided by commas."),
      .value("folder", "PATH", help: "Where networks lie; kept. Otherwise they are removed."),
      .flag("list", help: "Only name the faults."),
      .flag("smoke", help: "A few faults that take little time."),
    ],
    examples: [
      CommandExample("faults --seeds 1,2,3", "Everything, three times."),
      CommandExample("faults --only commit-cut-after --seeds 7 --folder trouble", "One again, with its logs kept."),
    ]
  ) { invocation in
    var faults = Faults.all
    if invocation.has("smoke") { faults = faults.filter { Faults.smoke.contains($0.name) } }
    if let names = invocation.text("only")?.split(separator: ",").map(String.init) {
      for name in names where !faults.contains(where: { $0.name == name }) {
        throw UsageError("--only: no fault is called \(name)")
      }
      faults = faults.filter { names.contains($0.name) }
    }
    let seeds = (invocation.text("seeds") ?? "").split(separator: ",").map { UInt64($0) }
    guard !seeds.isEmpty, !seeds.contains(nil) else { throw UsageError("--seeds must be numbers divided by commas") }
    if invocation.has("list") {
      Terminal.print(faults.map { "\($0.name): \($0.summary)" }.joined(separator: "\n"))
      return .success
    }
    if let reason = KafkaInstallation.reasonMissing {
      Terminal.note("faults: Kafka is not available: \(reason)")
      return .unavailable
    }
    let chosen = faults
    let results = try await onOwnThread {
      try run(chosen, seeds: seeds.compactMap { $0 }, folder: invocation.text("folder"))
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    Terminal.print(
      invocation.wantsJSON
        ? String(decoding: try encoder.encode(results), as: UTF8.self) : "\n" + FaultTable.text(results))
    for result in results where result.verdict == .failed {
      Terminal.note("\n\(result.name), seed \(result.seed): \(result.reason)")
    }
    return results.contains { $0.verdict == .failed } ? .failure : .success
  }

  private static func run(_ faults: [any Fault], seeds: [UInt64], folder: String?) throws -> [FaultResult] {
    let temporary = folder == nil ? try TemporaryFolder(prefix: "hbf") : nil
    if let temporary { chmod(temporary.path, 0o711) }
    let path = temporary?.path ?? URL(fileURLWithPath: folder ?? "").standardizedFileURL.path
    return seeds.flatMap { seed in
      let runner = FaultRunner(FaultRunner.Settings(folder: "\(path)/seed-\(seed)"))
      return runner.run(faults, seed: seed)
    }
  }

  static func main() async {
    exit(await CommandLineProgram.run(command).rawValue)
  }
}
