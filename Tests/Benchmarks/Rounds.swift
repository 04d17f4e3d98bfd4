import Foundation

/// Figures that are measured once in each of several rounds, one after the other, so that all of them meet the same
/// moments of a machine that is never quite the same.
struct Rounds {
  /// How many there are; `BENCH_ROUNDS` says otherwise.
  static let count = max(1, ProcessInfo.processInfo.environment["BENCH_ROUNDS"].flatMap(Int.init) ?? 5)

  private var values: [String: [Double]] = [:]

  mutating func note(_ name: String, _ value: Double) { values[name, default: []].append(value) }

  /// What was noted under `name`, in the order of the rounds.
  subscript(name: String) -> [Double] { values[name] ?? [] }

  /// The median of what was noted under `name`, and how far its values lie apart. Beside a limit that was noted in the
  /// same rounds the ratio is the median of the rounds' ratios.
  func result(_ name: String, _ unit: String, beside limit: String? = nil) -> BenchmarkResult {
    var result = BenchmarkResult(name, median(self[name]), unit)
    result.rounds = self[name].count
    result.scatter = scatter(self[name])
    if let limit {
      result.limitName = limit
      result.limit = median(self[limit])
      result.ratio = median(zip(self[name], self[limit]).map { $0 / $1 })
    }
    return result
  }
}

/// From the lowest to the highest, as a part of the median.
func scatter(_ values: [Double]) -> Double? {
  guard let lowest = values.min(), let highest = values.max(), median(values) > 0 else { return nil }
  return (highest - lowest) / median(values)
}
