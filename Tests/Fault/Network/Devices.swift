import Foundation
import Glibc
import LocalProcesses

/// Simulated devices that are busy until they are told to stop: `handbill simulate` in a process of its own.
final class Devices: Sendable {
  /// Where their own tally lies once they have stopped.
  let tallyPath: String
  private let process: ChildProcess
  private static let stopMilliseconds = 90_000

  /// - Parameter number: tells this use of devices from others in the same network.
  init(in network: FaultNetwork, number: Int, seed: UInt64, visitsPerSecond: Int) throws {
    tallyPath = "\(network.path)/tally-\(number).json"
    process = try network.start(
      [
        "simulate", "--duration", "6h", "--rate", "\(visitsPerSecond)", "--devices", "4000", "--seed", "\(seed)",
        "--tally", tallyPath,
      ], output: "\(network.path)/devices-\(number).out")
  }

  deinit { process.kill(SIGKILL) }

  /// Sends everybody home and waits until the broker has what they sent.
  ///
  /// - Throws: `FaultFailure` when it has not in the end: then nobody knows what the tables should hold.
  func stop() throws {
    process.kill(SIGTERM)
    guard let status = process.waitForExit(timeoutMilliseconds: Self.stopMilliseconds) else {
      process.kill(SIGKILL)
      throw FaultFailure("the devices did not stop within \(Self.stopMilliseconds / 1_000) s")
    }
    guard status.isSuccess else { throw FaultFailure("the devices' command \(status): not all was acknowledged") }
  }
}

extension FaultNetwork {
  /// Keeps what devices know to have happened that came one after the other.
  func keepTally(of paths: [String]) throws {
    func sum(_ first: Any, _ second: Any) -> Any {
      if let first = first as? [String: Any], let second = second as? [String: Any] {
        return first.merging(second) { sum($0, $1) }
      }
      if let first = first as? Int, let second = second as? Int { return first + second }
      return first
    }
    var all: [String: Any] = [:]
    for path in paths {
      let tally = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
      guard var tally = tally as? [String: Any] else { throw FaultFailure("a tally cannot be read") }
      // It is no figure.
      if let version = all["version"] { (all["version"], tally["version"]) = (version, nil) }
      all = sum(all, tally) as? [String: Any] ?? all
    }
    try JSONSerialization.data(withJSONObject: all).write(to: URL(fileURLWithPath: "\(path)/own-tally.json"))
  }
}
