import Foundation
import LocalProcesses

/// What a process holds in memory, in MiB, as the kernel counts it.
struct ResidentMemory {
  /// The most that a service may hold before it has anything to do.
  static let limitAtRest = 64.0
  /// The most that it may ever hold under load.
  static let limitUnderLoad = 256.0

  /// By now.
  let current: Double
  /// At its highest since the process began.
  let highest: Double

  init(of process: ChildProcess) throws {
    let text = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
    func mebibytes(_ name: String) throws -> Double {
      let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
      guard let line,
        let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) })
      else { throw SupervisionError.unavailable(what: name, hint: "the kernel does not tell it") }
      return kibibytes / 1_024
    }
    current = try mebibytes("VmRSS")
    highest = try mebibytes("VmHWM")
  }

  /// A service that has nothing to do yet, beside its limit.
  static func atRest(_ name: String, _ process: ChildProcess) throws -> BenchmarkResult {
    BenchmarkResult(
      "\(name), memory at rest", try ResidentMemory(of: process).current, "MiB",
      limit: ("the most at rest", limitAtRest))
  }

  /// The highest that a service has had so far, beside its limit.
  static func underLoad(_ name: String, _ process: ChildProcess) throws -> BenchmarkResult {
    BenchmarkResult(
      "\(name), most memory", try ResidentMemory(of: process).highest, "MiB",
      limit: ("the most under load", limitUnderLoad))
  }
}
