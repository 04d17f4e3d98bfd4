/// A service's counts per minute, beside what its rows say they must be.
struct SimulatedCounts<Key: Hashable> {
  /// By partition: how many rows its batches wrote the counts of.
  private var written: [Int32: Int64] = [:]
  /// By partition: counted from the rows since the batch that last wrote counts.
  private(set) var unwritten: [Int32: [Key: Int64]] = [:]
  /// How often a batch wrote other counts than its partition's rows since then have.
  private var wrongWrites = 0

  /// Takes a batch.
  ///
  /// - Parameters:
  ///   - rows: the keys of its rows.
  ///   - counts: what it writes.
  mutating func take(_ rows: [Key], writing counts: [Key: Int64], partition: Int32) {
    for key in rows { unwritten[partition, default: [:]][key, default: 0] += 1 }
    guard !counts.isEmpty else { return }
    if counts != unwritten[partition] { wrongWrites += 1 }
    unwritten[partition] = nil
    written[partition, default: 0] += counts.values.reduce(0, +)
  }

  /// What is wrong with the counts of a partition at rest that has `rows` rows; nil for nothing.
  func complaint(rows: Int, partition: Int32) -> String? {
    if wrongWrites > 0 { return "\(wrongWrites) batches wrote wrong counts" }
    let counted = written[partition] ?? 0
    return counted == Int64(rows) ? nil : "\(counted) are counted per minute, not \(rows)"
  }
}
