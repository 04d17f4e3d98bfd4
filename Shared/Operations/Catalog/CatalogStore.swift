package import AdCore
internal import Crypto
package import Postgres

/// What became of one record.
package struct CatalogChange: Hashable, Sendable {
  package enum Kind: String, Sendable {
    case created
    case changed
    case unchanged
    case deleted
  }

  package var key: String
  package var kind: Kind
  /// The record's version now.
  package var version: Int64

  /// The app whose record it is; nil for another kind of record.
  package var app: AppID? {
    let parts = key.split(separator: "/", maxSplits: 1)
    return parts.count == 2 && parts[0] == CatalogKind.app.rawValue ? AppID(String(parts[1])) : nil
  }
}

/// An app's key that was made: shown once, kept as its hash only.
package struct NewAppKey: Hashable, Sendable {
  package var app: AppID
  package var build: BuildKind
  /// The key that the app's build carries.
  package var key: String
}

/// What a change did.
package struct CatalogApplied: Hashable, Sendable {
  package var changes: [CatalogChange] = []
  package var newKeys: [NewAppKey] = []
  /// What the written apps lack before they get ads.
  package var nextSteps: [CatalogStep] = []
}

/// The catalogue's tables: the only way to write them, for the console and the command alike. Blocks the caller.
///
/// A change is checked whole, record by record and against all other records, and written whole or not at all. One
/// change at a time is let through; readers never wait.
package struct CatalogStore: Sendable {
  /// Live records of the whole catalogue: services keep it in memory. What is there already may be changed all the same.
  package static let recordsMaximum = 200_000

  private let pool: PostgresPool
  private let recordsMaximum: Int

  package init(_ pool: PostgresPool, recordsMaximum: Int = CatalogStore.recordsMaximum) {
    self.pool = pool
    self.recordsMaximum = recordsMaximum
  }

  /// Writes the records of a file; what it does not name stays. A draft with problems is not written: they are told with
  /// those of its records beside the others. A record that is as it was keeps its version.
  package func apply(_ file: CatalogFile) throws(PostgresError) -> Result<CatalogApplied, CatalogProblems> {
    try change { _ in .success(Plan(file: file)) }
  }

  /// Writes those records of a file whose keys were never used: what is there, was changed, or was deleted, stays as its
  /// operator left it.
  package func add(_ file: CatalogFile) throws(PostgresError) -> Result<CatalogApplied, CatalogProblems> {
    try change { rows in .success(Plan(file: file.without { rows[$0] != nil })) }
  }

  /// The rows in the order of their keys.
  package func list(
    kind: CatalogKind? = nil, includesDeleted: Bool = false
  ) throws(PostgresError) -> [CatalogRow] {
    let rows = try pool.withConnection { connection throws(PostgresError) in
      try connection.run(ReadCatalog(after: 0))
    }
    return rows.filter { (kind == nil || $0.kind == kind) && (includesDeleted || $0.deletedAt == nil) }
      .sorted { $0.key < $1.key }
  }

  /// So many records that are not deleted, behind `key` and in the order of the keys, and how many there are behind it.
  package func page(
    kind: CatalogKind? = nil, after key: String = "", rowsMaximum: Int
  ) throws(PostgresError) -> CutList<CatalogRow> {
    let rows = try pool.withConnection { connection throws(PostgresError) in
      try connection.run(ReadCatalogPage(kind: kind, after: key, rowsMaximum: rowsMaximum))
    }
    return CutList(rows.map(\.row), total: rows.first?.total ?? 0)
  }

  /// Changes members of one record, named by paths such as `isPaused` or `targeting.countries`. Values are written as
  /// in a file without quotes; lists with commas.
  package func set(
    key: String, _ members: [(path: String, value: String)]
  ) throws(PostgresError) -> Result<CatalogApplied, CatalogProblems> {
    try change { rows in
      guard let row = rows[key], row.deletedAt == nil, let kind = CatalogKind(key: key) else {
        return .failure(CatalogProblems([CatalogProblem(key, "there is no such record: see the list")]))
      }
      var problems: [CatalogProblem] = []
      let body = CatalogEdit.apply(members, to: row.body, kind: kind, key: key, problems: &problems)
      guard problems.isEmpty, case .record(let record) = CatalogJSON.read(body, as: kind, at: key, problems: &problems)
      else { return .failure(CatalogProblems(problems)) }
      guard record.key == key else {
        return .failure(CatalogProblems([CatalogProblem(key, "would become \(record.key): make a new record")]))
      }
      return .success(Plan(file: CatalogFile([record])))
    }
  }

  /// Deletes records. Those that others need are refused, unless these go as well.
  package func delete(keys: [String]) throws(PostgresError) -> Result<CatalogApplied, CatalogProblems> {
    try change { rows in
      let missing = keys.filter { key in rows[key].map { $0.deletedAt != nil } ?? true }
      guard missing.isEmpty else {
        return .failure(CatalogProblems(missing.map { CatalogProblem($0, "there is no such record: see the list") }))
      }
      return .success(Plan(deleted: keys))
    }
  }

  /// Writes what the topic holds and the tables have lost, as it is there and above its versions: commits were lost, and
  /// each of these records was in force. Says what was written.
  package static func takeBack(
    from topic: CatalogTopic, in connection: PostgresConnection
  ) throws(PostgresError) -> [CatalogLoss] {
    try connection.execute(LockCatalog())
    let losses = topic.losses(of: try connection.run(ReadCatalog(after: 0)))
    guard !losses.isEmpty else { return [] }
    let bundles: [(bundle: String, app: String)] = losses.compactMap { loss in
      guard case .app(let app)? = loss.record, app.isUnder17 == true else { return nil }
      return (app.bundleID, app.id.text)
    }
    let records = losses.map { (key: $0.key, kind: $0.kind, record: $0.record, version: $0.version) }
    _ = try connection.run(TakeBackRecords(records: records))
    try connection.execute(KeepHistory(keys: losses.map(\.key)))
    try connection.execute(KeepUnder17Bundles(bundles: bundles))
    return losses
  }

  private struct Plan {
    var file = CatalogFile()
    var deleted: [String] = []
  }

  /// Makes a plan out of what is there, checks it, and carries it out: all in one transaction, one at a time.
  private func change(
    _ makePlan: ([String: CatalogRow]) -> Result<Plan, CatalogProblems>
  ) throws(PostgresError) -> Result<CatalogApplied, CatalogProblems> {
    try pool.withConnection { connection throws(PostgresError) in
      try connection.transaction { connection throws(PostgresError) in
        try connection.execute(LockCatalog())
        let rows = try connection.run(ReadCatalog(after: 0))
        let bundles = Set(try connection.run(ReadUnder17Bundles()))
        let before = Dictionary(rows.map { ($0.key, $0) }) { first, _ in first }
        switch makePlan(before) {
        case .failure(let problems): return .failure(problems)
        case .success(let plan): return try carryOut(plan, before: before, bundles: bundles, in: connection)
        }
      }
    }
  }

  private func carryOut(
    _ plan: Plan, before: [String: CatalogRow], bundles: Set<String>, in connection: PostgresConnection
  ) throws(PostgresError) -> Result<CatalogApplied, CatalogProblems> {
    var applied = CatalogApplied()
    let live = before.compactMapValues(\.record)
    let entries = plan.file.entries + CatalogStore.makeKeys(plan.file.newKeys, live: live, &applied)
    var after = live
    for key in plan.deleted + plan.file.illegible { after[key] = nil }
    for entry in entries { after[entry.record.key] = entry.record }
    let changes = entries.map { entry in
      CatalogRules.Change(
        path: entry.path, old: live[entry.record.key], deleted: before[entry.record.key]?.deletedRecord,
        new: entry.record)
    }
    let problems =
      self.problems(records: after.count, before: live.count) + plan.file.problems
      + CatalogRules.problems(
        CatalogRules(
          after: after, changes: changes, deleted: Set(plan.deleted), illegible: plan.file.illegible,
          under17Bundles: bundles))
    guard problems.isEmpty else { return .failure(CatalogProblems(plan.file.inOrder(problems))) }
    let written = entries.filter { live[$0.record.key] != $0.record }
    let versions = try CatalogStore.write(written.map(\.record), deleting: plan.deleted, in: connection)
    applied.changes = entries.map { entry in
      let key = entry.record.key
      guard let version = versions[key] else {
        return CatalogChange(key: key, kind: .unchanged, version: before[key]?.version ?? 0)
      }
      return CatalogChange(key: key, kind: live[key] == nil ? .created : .changed, version: version)
    }
    applied.changes += plan.deleted.compactMap { key in
      versions[key].map { CatalogChange(key: key, kind: .deleted, version: $0) }
    }
    applied.nextSteps = CatalogStep.after(applied.changes, in: after)
    return .success(applied)
  }

  private func problems(records: Int, before: Int) -> [CatalogProblem] {
    guard records > recordsMaximum, records > before else { return [] }
    return [
      CatalogProblem(
        "catalogue", "it would have \(records) records, and can have \(recordsMaximum): delete what is over first")
    ]
  }

  /// Keys for builds that have none that is not revoked.
  private static func makeKeys(
    _ wishes: [CatalogFile.NewKey], live: [String: CatalogRecord], _ applied: inout CatalogApplied
  ) -> [CatalogFile.Entry] {
    wishes.compactMap { wish in
      let hasKey = live.values.contains { record in
        guard case .appKey(let key) = record else { return false }
        return key.app == wish.app && key.build == wish.build && !key.isRevoked
      }
      guard !hasKey else { return nil }
      let key = "hbk-" + Hexadecimal.text(SecureRandom.bytes(count: 20))
      applied.newKeys.append(NewAppKey(app: wish.app, build: wish.build, key: key))
      let record = AppKey(app: wish.app, build: wish.build, keyHash: SHA256.hash(Array(key.utf8)))
      return CatalogFile.Entry(path: wish.path, record: .appKey(record))
    }
  }

  private static func write(
    _ records: [CatalogRecord], deleting keys: [String], in connection: PostgresConnection
  ) throws(PostgresError) -> [String: Int64] {
    guard !records.isEmpty || !keys.isEmpty else { return [:] }
    let written = records.map { (key: $0.key, kind: CatalogKind(of: $0), body: CatalogJSON.value(of: $0)) }
    let bundles: [(bundle: String, app: String)] = records.compactMap { record in
      guard case .app(let app) = record, app.isUnder17 == true else { return nil }
      return (app.bundleID, app.id.text)
    }
    var statements = StatementBatch()
    let writing = statements.send(WriteRecords(records: written))
    let deleting = statements.send(DeleteRecords(keys: keys))
    statements.send(KeepHistory(keys: records.map(\.key) + keys))
    statements.send(KeepUnder17Bundles(bundles: bundles))
    let results = try connection.run(statements)
    let rows = try results.rows(writing) + results.rows(deleting)
    return Dictionary(rows.map { ($0.key, $0.version) }) { _, last in last }
  }
}
