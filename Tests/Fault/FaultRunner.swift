import AdCore
import Foundation
import LocalProcesses
import Runtime
import TestValues

/// Makes faults, one after the other, and compares all accounts after each.
final class FaultRunner {
  struct Settings: Sendable {
    /// Everything of a run lies here.
    var folder: String
    var visitsPerSecond = 60
    /// How long devices are busy before a fault is made.
    var warmUpMilliseconds = 2_000
    /// How long everything may take to be decided after a fault.
    var recoveryMilliseconds: Int64 = 90_000
    var drainSeconds = 60
  }

  private let settings: Settings
  private var network: FaultNetwork?
  private var networks = 0
  private var uses = 0

  init(_ settings: Settings) { self.settings = settings }

  deinit { network?.close() }

  /// Makes all `faults` under one seed; those that need the same network follow each other.
  func run(_ faults: [any Fault], seed: UInt64) -> [FaultResult] {
    var order: [NetworkNeeds] = []
    for fault in faults where !order.contains(fault.needs) { order.append(fault.needs) }
    let results = order.flatMap { needs in
      faults.filter { $0.needs == needs }.map { fault in
        let result = run(fault, seed: seed)
        say("\(fault.name): \(result.verdict.rawValue) \(result.reason)")
        return result
      }
    }
    closeNetwork()
    return results
  }

  private func run(_ fault: any Fault, seed: UInt64) -> FaultResult {
    var result = FaultResult(name: fault.name, seed: seed, summary: fault.summary, invariants: fault.invariants)
    if let reason = fault.reasonSkipped {
      result.verdict = .skipped
      result.reason = reason
      return result
    }
    do {
      try make(fault, seed: seed, &result)
    } catch {
      result.verdict = .failed
      result.reason = "\(error)"
    }
    result.standstills = network?.takeStandstills() ?? []
    result.unexpectedEnds = network?.unexpectedEnds ?? []
    // What a failure, a death that nobody asked for, or this very fault leaves behind must not be the next one's.
    if result.verdict == .failed || fault.needs.isUsedUp || !result.unexpectedEnds.isEmpty { closeNetwork() }
    return result
  }

  private func make(_ fault: any Fault, seed: UInt64, _ result: inout FaultResult) throws {
    let clock = SystemClock()
    let network = try network(for: fault)
    uses += 1
    var chance = SeededChance(seed: seed &* 0x1_0001 ^ UInt64(truncatingIfNeeded: contentHash(fault.name)))
    let devices =
      fault.bringsDevices
      ? nil : try Devices(in: network, number: uses, seed: seed, visitsPerSecond: settings.visitsPerSecond)
    network.pause(milliseconds: settings.warmUpMilliseconds + chance.number(0...1_000))
    say("\(fault.name): \(fault.summary)")
    let began = clock.monotonicMilliseconds
    try fault.make(in: network, &chance)
    result.faultMilliseconds = clock.monotonicMilliseconds - began
    result.recoveryMilliseconds = try RecoveryWatch(network: network).measure(
      timeoutMilliseconds: settings.recoveryMilliseconds)
    try devices?.stop()
    try fault.conclude(in: network)
    guard let tally = devices?.tallyPath ?? network.tallyOfOwnDevices else { throw FaultFailure("there is no tally") }
    let accounts = try Accounts.close(
      network, invariants: fault.invariants, tallyPath: tally, timeoutSeconds: settings.drainSeconds)
    result.compared = accounts.compared
    result.differences = accounts.differences
    guard accounts.differences == 0 else { throw FaultFailure(accounts.examples.joined(separator: "\n")) }
  }

  /// The same text gives the same number in every process.
  private func contentHash(_ text: String) -> UInt64 {
    text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  private func network(for fault: any Fault) throws -> FaultNetwork {
    if let network, network.needs == fault.needs { return network }
    closeNetwork()
    networks += 1
    say("a network with \(fault.needs.brokers) broker\(fault.needs.brokers > 1 ? "s" : "") is started")
    let made = try FaultNetwork(
      fault.needs, path: "\(settings.folder)/network-\(networks)", say: { Terminal.note("  \($0)") }
    )
    network = made
    return made
  }

  private func closeNetwork() {
    network?.close()
    network = nil
  }

  private func say(_ text: String) { Terminal.note(text) }
}
