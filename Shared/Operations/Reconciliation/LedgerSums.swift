internal import Postgres

/// I6 kept up: what the journals of each partition come to, added up as they are written, beside the balances. Only
/// journals written since the last pass are read, and no more of them than ``batchesMaximum`` of each partition.
struct LedgerSums: Sendable {
  /// Journals of a partition that one pass adds up.
  static let batchesMaximum: Int64 = 2_000

  private struct Sum: Hashable, Sendable {
    var debit: Int128 = 0
    var credit: Int128 = 0
  }

  private struct Partition: Sendable {
    /// The last batch that is in `sums`.
    var batch: Int64 = 0
    /// By currency.
    var sums: [String: Sum] = [:]
    /// It is to be added up again.
    var isAgain = false
    /// What the last comparison found; it stands until the next one.
    var differing: [String] = []
  }

  private var partitions: [Int32: Partition] = [:]

  /// Adds up what is new in the connection's snapshot and compares: debits with credits over all, and each partition's
  /// journals with its balances.
  mutating func check(in connection: PostgresConnection) throws(PostgresError) -> ReconciliationCheck {
    var goals: [Int32: Int64] = [:]
    for row in try connection.query("SELECT partition, batch_number FROM billing.partition") {
      goals[try row.decode(0)] = try row.decode(1)
    }
    partitions = partitions.filter { goals[$0.key] != nil }
    let new = goals.filter { number, goal in partitions[number].map { $0.batch > goal || $0.isAgain } ?? true }
      .map(\.key)
    if !new.isEmpty {
      let sealed = try sealed(in: connection)
      for number in new {
        let found = partitions[number]?.differing ?? []
        partitions[number] = sealed[number] ?? Partition()
        partitions[number]?.differing = found
      }
    }
    try addUp(goals: goals, in: connection)
    let balances = try balances(in: connection)
    for (number, goal) in goals { compare(number, goal: goal, balances: balances[number] ?? [:]) }

    var totals: [String: Sum] = [:]
    for (currency, sum) in balances.values.flatMap({ $0 }) {
      totals[currency, default: Sum()].debit += sum.debit
      totals[currency, default: Sum()].credit += sum.credit
    }
    let unbalanced = totals.filter { $0.value.debit != $0.value.credit }.sorted { $0.key < $1.key }.map {
      "\($0.key): debit \($0.value.debit), credit \($0.value.credit) (nanos)"
    }
    let differing = unbalanced + partitions.sorted { $0.key < $1.key }.flatMap(\.value.differing)
    return ReconciliationCheck(
      rule: "I6", name: "ledger: debits are credits, balances are their journals",
      compared: Int64(balances.values.reduce(0) { $0 + $1.count }), differences: Int64(differing.count),
      examples: Array(differing.prefix(5)))
  }

  private mutating func addUp(goals: [Int32: Int64], in connection: PostgresConnection) throws(PostgresError) {
    let behind = goals.filter { partitions[$0.key].map { $0.batch } ?? 0 < $0.value }.map { (number, goal) in
      let after = partitions[number]?.batch ?? 0
      return (number: number, after: after, last: min(goal, after + Self.batchesMaximum))
    }
    guard !behind.isEmpty else { return }
    let sql = """
      SELECT r.partition, p.currency, sum(p.debit), sum(p.credit)
      FROM unnest($1::int[], $2::bigint[], $3::bigint[]) AS r (partition, after, last)
      JOIN billing.posting p ON p.partition = r.partition AND p.batch_number > r.after AND p.batch_number <= r.last
      GROUP BY 1, 2
      """
    let rows = try connection.query(sql, [behind.map(\.number), behind.map(\.after), behind.map(\.last)])
    for row in rows {
      let number: Int32 = try row.decode(0)
      let currency: String = try row.decode(1)
      partitions[number]?.sums[currency, default: Sum()].debit += try row.decode(2)
      partitions[number]?.sums[currency, default: Sum()].credit += try row.decode(3)
    }
    for item in behind { partitions[item.number]?.batch = item.last }
  }

  /// Where each partition's sums begin: behind its last sealed batch.
  private func sealed(in connection: PostgresConnection) throws(PostgresError) -> [Int32: Partition] {
    var sealed: [Int32: Partition] = [:]
    for row in try connection.query("SELECT partition, batch_number FROM sealed.batch WHERE service = 'billing'") {
      sealed[try row.decode(0)] = Partition(batch: try row.decode(1))
    }
    for row in try connection.query(
      "SELECT partition, currency, sum(debit), sum(credit) FROM sealed.account GROUP BY 1, 2")
    {
      let sum = Sum(debit: try row.decode(2), credit: try row.decode(3))
      guard sum != Sum() else { continue }
      sealed[try row.decode(0)]?.sums[try row.decode(1)] = sum
    }
    return sealed
  }

  private func balances(in connection: PostgresConnection) throws(PostgresError) -> [Int32: [String: Sum]] {
    let sql = "SELECT partition, currency, sum(debit), sum(credit) FROM billing.balance GROUP BY 1, 2"
    var balances: [Int32: [String: Sum]] = [:]
    for row in try connection.query(sql) {
      balances[try row.decode(0), default: [:]][try row.decode(1)] = Sum(
        debit: try row.decode(2), credit: try row.decode(3))
    }
    return balances
  }

  /// What differs is added up again from the last sealed batch, so that it is seen when it is mended.
  private mutating func compare(_ number: Int32, goal: Int64, balances: [String: Sum]) {
    guard let partition = partitions[number], partition.batch == goal else { return }
    let differing = Set(balances.keys).union(partition.sums.keys).sorted().compactMap { currency -> String? in
      let (balance, sum) = (balances[currency] ?? Sum(), partition.sums[currency] ?? Sum())
      guard balance != sum else { return nil }
      return "partition \(number): balances \(balance.debit) \(balance.credit), "
        + "journals \(sum.debit) \(sum.credit) \(currency) (nanos)"
    }
    partitions[number]?.differing = differing
    partitions[number]?.isAgain = !differing.isEmpty
  }
}
