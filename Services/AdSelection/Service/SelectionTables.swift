internal import AdCore
internal import AdEvents
internal import AdSelectionCore
internal import Crypto
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Ad selection's own tables.
struct SelectionTables: ServiceTables {
  typealias Service = AdSelection

  let ring: KeyRing
  let catalog: CatalogSource
  let settings: SelectionSettings
  let metrics: SelectionMetrics
  /// How long counts of requests without their app's key are kept: as long as the decisions.
  let retentionDays: Int
  let consumers = ["billing"]
  /// Shared by all partitions.
  private let requests = RequestMemory()
  var windows: Windows { settings.windows }

  func load(
    _ partition: Int32, now: Timestamp, from connection: PostgresConnection
  ) throws(PostgresError) -> SelectionDecider {
    var stored = StoredState()
    let memory = settings.allotments.memoryMilliseconds
    stored.allotments = try connection.run(
      ReadAllotments(partition: partition, since: now.advanced(byMilliseconds: -memory)))
    let memoryMilliseconds = StoredState.memoryMilliseconds(throttle: settings.throttle)
    stored.decisions = try connection.run(
      ReadRecentDecisions(partition: partition, memoryMilliseconds: memoryMilliseconds, now: now))
    for count in try connection.run(CountTestRequests(partition: partition)) {
      stored.testRequests[count.client] = count.requests
    }
    for unwritten in try connection.run(CountUnwrittenRequests(partition: partition)) {
      stored.counts[unwritten.key, default: 0] += unwritten.requests
    }
    return SelectionDecider(
      stored: stored, catalog: catalog, settings: settings, crypto: try crypto(), random: SecureRandom(),
      memory: requests, now: now)
  }

  private func crypto() throws(PostgresError) -> SelectionCrypto {
    do throws(CryptoError) { return try SelectionCrypto(ring: ring) } catch {
      // The service tried it before it started.
      throw PostgresError(.misuse, "libcrypto cannot sign any more: \(error)")
    }
  }

  func lookUp(
    _ query: Never, partition: Int32, in connection: PostgresConnection
  ) throws(PostgresError) -> Never {}

  func rows(_ batch: CommitBatch<AdSelection>) -> [TableRows] { [DecisionRows.rows(batch)] }

  func finish(_ batch: CommitBatch<AdSelection>, with statements: inout StatementBatch) -> CommitReader {
    let effects = batch.effects
    if !effects.opened.isEmpty {
      statements.send(InsertAllotments(partition: batch.partition, batchNumber: batch.number, rows: effects.opened))
    }
    for (id, used) in effects.used { statements.send(UseAllotment(partition: batch.partition, id: id, used: used)) }
    if !effects.closed.isEmpty { statements.send(CloseAllotments(partition: batch.partition, closed: effects.closed)) }
    if !effects.counts.isEmpty { write(effects.counts, of: batch, with: &statements) }
    return { [metrics] (_: StatementBatchResults) throws(PostgresError) -> CommitResult in
      metrics.note(effects)
      return CommitResult()
    }
  }

  private func write(
    _ counts: [SelectionCountKey: Int64], of batch: CommitBatch<AdSelection>, with statements: inout StatementBatch
  ) {
    var ofApps: [(key: MinuteCountKey, requests: Int64)] = []
    var keyless: [AddKeylessCounts.Count] = []
    for (key, requests) in counts {
      switch key {
      case .ofApp(let key): ofApps.append((key, requests))
      case .withoutAppKey(let day, let reason):
        keyless.append(.init(day: PostgresDate(days: day), reason: reason, requests: requests))
      }
    }
    // Always: it says up to which batch everything is counted.
    statements.send(
      AddRequestMinuteCounts(
        partition: batch.partition, batchNumber: batch.number, committedAt: batch.committedAt, counts: ofApps))
    guard !keyless.isEmpty else { return }
    let today = batch.committedAt.milliseconds / 86_400_000
    let oldest = PostgresDate(days: Int32(clamping: today - Int64(retentionDays)))
    statements.send(AddKeylessCounts(partition: batch.partition, oldestDay: oldest, counts: keyless))
  }

  func messages(
    partition: Int32, output: Int, from sequence: Int64, limit: Int, in connection: PostgresConnection
  ) throws(PostgresError) -> [NumberedMessage] {
    try connection.run(ReadReports(partition: partition, from: sequence, limit: limit)).map {
      NumberedMessage(
        output: output, sequence: $0.sequence,
        message: AdSelection.message(
          $0.report, campaign: $0.campaign, sequence: $0.sequence, partition: partition))
    }
  }
}
