import Pipeline

/// A service's counts, beside what the rows of its batches say they must be.
struct SimulatedCounts<Key: Hashable & Sendable, Sums: Equatable & Sendable> {
  private let add: (inout Sums, Sums) -> Void
  /// By partition: what was counted with its batch.
  private var appended: [Int32: [Key: Sums]] = [:]
  /// By partition: the counts of each batch, as its rows say.
  private var batches: [Int32: [(number: Int64, counts: [Key: Sums])]] = [:]
  /// By partition: up to which batch everything is counted.
  private(set) var counted: [Int32: Int64] = [:]
  /// By partition: what was appended, added up.
  private(set) var written: [Int32: [Key: Sums]] = [:]

  init(add: @escaping (inout Sums, Sums) -> Void) { self.add = add }

  /// A batch was committed whose rows count so; what of it was `appended` was counted with it.
  mutating func commit(
    _ rows: [(key: Key, sums: Sums)], appended: [(key: Key, sums: Sums)] = [], partition: Int32, batch: Int64
  ) {
    batches[partition, default: []].append((batch, sum(rows)))
    for row in appended { add(row.sums, of: row.key, to: &self.appended[partition, default: [:]]) }
    append(sum(appended), partition)
  }

  /// One transaction, as the store's: false where somebody else has counted.
  mutating func write(_ flush: CountFlush<Key, Sums>, sabotage: Sabotage?) -> Bool {
    let last = counted[flush.partition, default: 0]
    let counts: [Key: Sums]
    switch flush.content {
    case .collected(let collected, let after):
      guard after == last || sabotage == .countTwice else { return last == flush.upTo }
      counts = sabotage == .loseCounts ? [:] : collected
    case .stored:
      guard last < flush.upTo else { return last == flush.upTo }
      let missing = (batches[flush.partition] ?? []).filter { $0.number > last && $0.number <= flush.upTo }
      counts =
        sabotage == .neverCountAgain ? [:] : sum(missing.flatMap { $0.counts.map { (key: $0.key, sums: $0.value) } })
    }
    append(counts, flush.partition)
    counted[flush.partition] = flush.upTo
    return true
  }

  private mutating func append(_ counts: [Key: Sums], _ partition: Int32) {
    for (key, sums) in counts { add(sums, of: key, to: &written[partition, default: [:]]) }
  }

  private func sum(_ rows: [(key: Key, sums: Sums)]) -> [Key: Sums] {
    var all: [Key: Sums] = [:]
    for row in rows { add(row.sums, of: row.key, to: &all) }
    return all
  }

  private func add(_ sums: Sums, of key: Key, to all: inout [Key: Sums]) {
    guard var known = all[key] else {
      all[key] = sums
      return
    }
    add(&known, sums)
    all[key] = known
  }

  /// What is wrong with the counts of a partition at rest that has `rows` rows; nil for nothing.
  func complaint(rows: Int, partition: Int32, events: (Sums) -> Int64) -> String? {
    var own = sum((batches[partition] ?? []).flatMap { $0.counts.map { (key: $0.key, sums: $0.value) } })
    for (key, sums) in appended[partition] ?? [:] { add(sums, of: key, to: &own) }
    let written = written[partition] ?? [:]
    if let key = Set(written.keys).union(own.keys).first(where: { written[$0] != own[$0] }) {
      return
        "\(String(describing: written[key])) is counted of \(key), and its rows say \(String(describing: own[key]))"
    }
    let counted = written.values.reduce(0) { $0 + events($1) }
    return counted == Int64(rows) ? nil : "\(counted) are counted, not \(rows)"
  }

  /// How many batches before `batch` are not counted and count something.
  func uncounted(before batch: Int64, partition: Int32) -> Int {
    (batches[partition] ?? []).count {
      !$0.counts.isEmpty && $0.number > counted[partition, default: 0] && $0.number <= batch
    }
  }

  /// Whether every batch that counts something is counted.
  var isComplete: Bool {
    batches.allSatisfy { partition, batches in
      batches.allSatisfy { $0.counts.isEmpty || $0.number <= counted[partition, default: 0] }
    }
  }
}
