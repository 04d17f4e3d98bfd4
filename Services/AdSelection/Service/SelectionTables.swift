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
  let clickRates: ClickRates
  let metrics: SelectionMetrics
  /// How long counts of requests without their app's key are kept: as long as the decisions.
  let retentionDays: Int
  let consumers = ["billing"]
  /// What tie-breaks and expected values follow from besides the catalogue.
  private var rules: AuctionRules { AuctionRules(seed: settings.seed, clickRates: clickRates) }
  /// Shared by all partitions.
  private let memory = SelectionMemory()
  var windows: Windows { settings.windows }

  func load(
    _ partition: Int32, now: Timestamp, from connection: PostgresConnection
  ) throws(PostgresError) -> SelectionDecider {
    try connection.execute(NoteAuctionRules(rules: rules))
    var stored = StoredState()
    let since = now.advanced(byMilliseconds: -settings.allotments.memoryMilliseconds)
    stored.allotments = try connection.run(ReadAllotments(partition: partition, since: since))
    let memoryMilliseconds = StoredState.memoryMilliseconds(throttle: settings.throttle)
    stored.decisions = try recentDecisions(of: partition, memoryMilliseconds: memoryMilliseconds, now: now, connection)
    stored.testDay = TestSequence.day(of: now)
    for count in try connection.run(CountTestRequests(partition: partition, day: stored.testDay)) {
      stored.testRequests[count.client] = count.requests
    }
    let hour = now.milliseconds / 3_600_000
    for count in try connection.run(
      CountAppRequests(partition: partition, since: Timestamp(milliseconds: (hour - 1) * 3_600_000)))
    {
      stored.appRequests[count.key] = count.requests
    }
    return SelectionDecider(
      stored: stored, catalog: catalog, settings: settings, crypto: try crypto(), random: SecureRandom(),
      memory: memory)
  }

  private func recentDecisions(
    of partition: Int32, memoryMilliseconds: Int64, now: Timestamp, _ connection: PostgresConnection
  ) throws(PostgresError) -> [StoredDecision] {
    let find = FindRecentDecisions(partition: partition, memoryMilliseconds: memoryMilliseconds, now: now)
    guard let ranges = try connection.run(find).first else { return [] }
    return try connection.run(ReadRecentDecisions(partition: partition, ranges: ranges))
  }

  private func crypto() throws(PostgresError) -> SelectionCrypto {
    do throws(CryptoError) { return try SelectionCrypto(ring: ring) } catch {
      // The service tried it before it started.
      throw PostgresError(.misuse, "libcrypto cannot sign any more: \(error)")
    }
  }

  func lookUp(
    _ query: SelectionQuery, partition: Int32, in connection: PostgresConnection
  ) throws(PostgresError) -> SelectionKnowledge {
    let found = try connection.run(ReadEarlierDecisions(partition: partition, ids: Array(query.ids)))
    return SelectionKnowledge(Dictionary(found.map { ($0.id, $0.decision) }) { first, _ in first })
  }

  func rows(_ batch: CommitBatch<AdSelection>, terms: TermsBook) -> [TableRows] {
    let (packs, others) = DecisionPacks.split(batch.effects.decisions)
    return [
      DecisionRows.rows(others, batchNumber: batch.number, rules: rules.number, terms: terms),
      DecisionPacks.rows(packs, batchNumber: batch.number, rules: rules.number, terms: terms),
    ]
  }

  func finish(
    _ batch: CommitBatch<AdSelection>, terms: TermsBook, with statements: inout StatementBatch
  ) -> CommitReader {
    let effects = batch.effects
    if !effects.opened.isEmpty {
      statements.send(InsertAllotments(partition: batch.partition, batchNumber: batch.number, opened: effects.opened))
    }
    if !effects.used.isEmpty { statements.send(UseAllotments(partition: batch.partition, used: effects.used)) }
    if effects.keylessBeyondLimit > 0 {
      // No row of theirs could tell it again, so it is counted with its batch. Nobody else writes this row.
      let count = AddKeylessCounts.Count(
        day: PostgresDate(days: Int32(clamping: batch.committedAt.milliseconds / Windows.dayMilliseconds)),
        reason: .keylessBeyondLimit, requests: effects.keylessBeyondLimit)
      statements.send(keylessCounts([count], partition: batch.partition, latest: count.day.days))
    }
    if !effects.closed.isEmpty { statements.send(CloseAllotments(partition: batch.partition, closed: effects.closed)) }
    return { [metrics] (_: StatementBatchResults) throws(PostgresError) -> CommitResult in
      metrics.note(effects)
      return CommitResult()
    }
  }

  func countRows(_ counts: [SelectionCountKey: Int64], partition: Int32) -> TableRows {
    RequestCounts.rows(counts, partition: partition)
  }

  /// Requests without their app's key are few rows: one for each day and reason, added to where they are.
  func finishCounts(
    _ counts: [SelectionCountKey: Int64], partition: Int32, with statements: inout StatementBatch
  ) {
    let keyless = counts.compactMap { key, requests -> AddKeylessCounts.Count? in
      guard case .withoutAppKey(let day, let reason) = key else { return nil }
      return AddKeylessCounts.Count(day: PostgresDate(days: day), reason: reason, requests: requests)
    }
    guard let latest = keyless.map(\.day.days).max() else { return }
    statements.send(keylessCounts(keyless, partition: partition, latest: latest))
  }

  /// - Parameter latest: the last day that is counted: those that are past retention then are forgotten.
  private func keylessCounts(
    _ counts: [AddKeylessCounts.Count], partition: Int32, latest: Int32
  ) -> AddKeylessCounts {
    AddKeylessCounts(
      partition: partition, oldestDay: PostgresDate(days: latest - Int32(clamping: retentionDays)), counts: counts)
  }

  static let countAgain = [RequestCounts.countAgain, RequestCounts.countKeylessAgain]

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

extension SelectionTables {
  /// The tables that are cut by day, kept for as long as `retention` says.
  static func days(_ retention: Retention) -> DayTables {
    // What is kept for decisions is kept while a day has rows of their own: those go last.
    let decisions = ["ad_selection.decision_pack", "ad_selection.decision_row"]
    return DayTables(
      decisions, clientTables: decisions, counts: CountTables("ad_selection", retention: retention),
      retention: retention)
  }
}
