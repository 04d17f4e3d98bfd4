import Foundation
import Runtime

/// What became of one fault under one seed.
struct FaultResult: Encodable, Sendable {
  enum Verdict: String, Encodable, Sendable {
    case passed
    case failed
    /// This machine cannot make it.
    case skipped
  }

  let name: String
  let seed: UInt64
  let summary: String
  let invariants: [String]
  var verdict = Verdict.passed
  /// Why it failed or was skipped.
  var reason = ""
  /// How long the fault itself took.
  var faultMilliseconds: Int64?
  /// How long services stood still in it, where that has a bound.
  var standstills: [Standstill] = []
  /// From its end until everything that was written by then is decided.
  var recoveryMilliseconds: Int64?
  /// Rows that the accounts compared.
  var compared: Int64?
  var differences: Int64?
  /// Processes that ended without being told to, and were started again.
  var unexpectedEnds: [String] = []
}

/// How long no batch was decided of some partition of a service.
struct Standstill: Encodable, Sendable {
  let service: String
  let milliseconds: Int64
}

/// The results as a person reads them.
enum FaultTable {
  private static let header = [
    "fault", "seed", "at stake", "lasted", "stood still", "recovery", "compared", "differences", "verdict",
  ]

  static func text(_ results: [FaultResult]) -> String {
    let rows = [header] + results.map(row)
    let widths = header.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    let lines = rows.map { row in
      row.enumerated().map { column, cell in
        column == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[column] - cell.count + 2)
      }.joined()
    }
    return lines.joined(separator: "\n") + "\n" + totals(results)
  }

  private static func row(_ result: FaultResult) -> [String] {
    let note = result.reason.isEmpty ? "" : ": \(result.reason.split(separator: "\n").first ?? "")"
    let ends = result.unexpectedEnds.isEmpty ? "" : " (started again: \(result.unexpectedEnds.joined(separator: ", ")))"
    return [
      result.name, "\(result.seed)", result.invariants.joined(separator: " "), seconds(result.faultMilliseconds),
      longest(result.standstills), seconds(result.recoveryMilliseconds), result.compared.map { "\($0)" } ?? "-",
      result.differences.map { "\($0)" } ?? "-", "\(result.verdict.rawValue)\(note)\(ends)",
    ]
  }

  private static func longest(_ standstills: [Standstill]) -> String {
    guard let longest = standstills.max(by: { $0.milliseconds < $1.milliseconds }) else { return "-" }
    return "\(seconds(longest.milliseconds)) \(longest.service)"
  }

  private static func seconds(_ milliseconds: Int64?) -> String {
    guard let milliseconds else { return "-" }
    let tenths = (milliseconds + 50) / 100
    return "\(tenths / 10).\(tenths % 10) s"
  }

  private static func totals(_ results: [FaultResult]) -> String {
    let counts = [FaultResult.Verdict.passed, .failed, .skipped].map { verdict in
      "\(results.count { $0.verdict == verdict }) \(verdict.rawValue)"
    }
    return "\(results.count) faults made: " + counts.joined(separator: ", ")
  }
}
