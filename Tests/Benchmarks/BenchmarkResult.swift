import Foundation

/// One measured value beside the limit measured in the same run.
struct BenchmarkResult: Codable {
  var name: String
  var value: Double
  var unit: String
  /// What the limit is, in words.
  var limitName: String?
  var limit: Double?
  /// `value / limit`; of several rounds, the median of theirs.
  var ratio: Double?
  /// Of how many rounds `value` is the median; nil for a figure that was measured once.
  var rounds: Int?
  /// From the lowest round to the highest, as a part of the median.
  var scatter: Double?

  init(_ name: String, _ value: Double, _ unit: String, limit: (name: String, value: Double)? = nil) {
    self.name = name
    self.value = value
    self.unit = unit
    limitName = limit?.name
    self.limit = limit?.value
    ratio = limit.map { value / $0.value }
  }
}

/// The table that people read and the list that machines read.
enum BenchmarkReport {
  static func print(_ results: [BenchmarkResult]) {
    let table = [["what", "value", "unit", "beside", "its value", "ratio", "rounds", "scatter"]] + results.map(row)
    let widths = (0..<8).map { column in table.map { $0[column].count }.max() ?? 0 }
    for row in table {
      let cells = row.enumerated().map { column, text in
        let room = String(repeating: " ", count: widths[column] - text.count)
        return column == 1 || column >= 4 ? room + text : text + room
      }
      Swift.print(cells.joined(separator: "  "))
    }
  }

  private static func row(_ result: BenchmarkResult) -> [String] {
    let ratio = result.ratio.map { String(format: "%.3f", $0) }
    let scatter = result.scatter.map { String(format: "%.0f %%", $0 * 100) }
    return [
      result.name, number(result.value), result.unit, result.limitName ?? "", result.limit.map(number) ?? "",
      ratio ?? "", result.rounds.map(String.init) ?? "1", scatter ?? "",
    ]
  }

  static func write(_ results: [BenchmarkResult], to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try encoder.encode(results).write(to: URL(fileURLWithPath: path))
  }

  private static func number(_ value: Double) -> String {
    value >= 1_000 ? String(format: "%.0f", value) : String(format: "%.3f", value)
  }
}

/// Seconds that `body` takes on the monotonic clock.
func seconds(_ body: () throws -> Void) rethrows -> Double {
  let clock = ContinuousClock()
  let duration = try clock.measure(body)
  return Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
}

func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
}
