internal import AdCore
internal import AdEvents
internal import ClickTrackingCore
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Click tracking's own tables.
struct ClickTables: ServiceTables {
  typealias Service = ClickTracking

  let windows: Windows
  let consumers = ["billing"]

  func load(
    _ partition: Int32, now: Timestamp, from connection: PostgresConnection
  ) throws(PostgresError) -> ClickDecider {
    let found = try connection.run(ReadWaitingServes(partition: partition))
    guard !found.isEmpty else { return ClickDecider(windows: windows, waiting: []) }
    let find = FindTappedImpressions(partition: partition, ids: found.map(\.serveID))
    let seen = Set(try connection.run(find).map(\.serveID))
    return ClickDecider(
      windows: windows,
      waiting: found.map { serve in
        var serve = serve
        serve.isSeen = seen.contains(serve.serveID)
        return serve
      })
  }

  /// All questions in one round trip that need no other's answer.
  func lookUp(
    _ query: ClickQuery, partition: Int32, in connection: PostgresConnection
  ) throws(PostgresError) -> ClickKnowledge {
    var statements = StatementBatch()
    let clicks = query.identities.filter { $0.kind == .click }
    let stopped = query.identities.subtracting(clicks)
    let waiting = Set(query.clients.filter(\.value.hasWaiting).keys)
    let findClicks = clicks.isEmpty ? nil : statements.send(FindClicks(partition: partition, identities: Array(clicks)))
    let findStopped =
      stopped.isEmpty ? nil : statements.send(FindStoppedActions(partition: partition, identities: Array(stopped)))
    let findImpressions =
      query.serves.isEmpty
      ? nil : statements.send(FindTappedImpressions(partition: partition, ids: Array(query.serves)))
    let findJudged =
      query.clients.isEmpty
      ? nil : statements.send(FindJudgedClicks(partition: partition, clients: query.clients, windows: windows))
    let findWaiting =
      waiting.isEmpty
      ? nil : statements.send(FindWaitingClicks(partition: partition, clients: waiting))
    let results = try connection.run(statements)

    var known = ClickKnowledge()
    known.serves = query.serves
    if let findClicks { known.identities.formUnion(try results.rows(findClicks)) }
    if let findStopped { known.identities.formUnion(try results.rows(findStopped)) }
    if let findImpressions {
      for found in try results.rows(findImpressions) { known.seenAt[found.serveID] = found.shownAt }
    }
    if let findJudged {
      for found in try results.rows(findJudged) {
        known.clients[found.client, default: ClientClicks()].judged.append(found.click)
      }
    }
    if let findWaiting {
      let clicks = try results.rows(findWaiting)
      for click in clicks { known.clients[click.client, default: ClientClicks()].waiting.append(click) }
      let serves = Set(clicks.map(\.terms.serveID)).subtracting(query.serves)
      try lookUpViews(of: serves, partition: partition, into: &known, in: connection)
    }
    try lookUpConversions(query, partition: partition, into: &known, in: connection)
    return known
  }

  /// Asked for when it is known which ads wait: without their ids the tables of all days would be looked into.
  private func lookUpViews(
    of serves: Set<ServeID>, partition: Int32, into known: inout ClickKnowledge, in connection: PostgresConnection
  ) throws(PostgresError) {
    guard !serves.isEmpty else { return }
    for found in try connection.run(FindTappedImpressions(partition: partition, ids: Array(serves))) {
      known.seenAt[found.serveID] = found.shownAt
    }
  }

  /// They are rare: what is asked about them has a round trip of its own.
  private func lookUpConversions(
    _ query: ClickQuery, partition: Int32, into known: inout ClickKnowledge, in connection: PostgresConnection
  ) throws(PostgresError) {
    guard !query.converted.isEmpty else { return }
    var statements = StatementBatch()
    let conversions = statements.send(FindConversions(partition: partition, serves: Array(query.converted)))
    let keys = statements.send(FindAppKeys(hashes: Array(query.keys)))
    let results = try connection.run(statements)
    for found in try results.rows(conversions) { known.conversions[found.ad, default: []].insert(found.identity) }
    for found in try results.rows(keys) { known.keys[found.key.keyHash] = found }
  }

  func rows(_ batch: CommitBatch<ClickTracking>, terms: TermsBook) -> [TableRows] {
    [
      KnownImpressionRows.rows(batch), ClickRows.rows(batch, terms: terms), ParkedRows.rows(batch, terms: terms),
      StoppedActionRows.rows(batch), ConversionRows.rows(batch),
    ]
  }

  func finish(
    _ batch: CommitBatch<ClickTracking>, terms: TermsBook, with statements: inout StatementBatch
  ) -> CommitReader {
    if !batch.effects.released.isEmpty {
      _ = statements.send(RemoveParkedClicks(partition: batch.partition, identities: batch.effects.released))
    }
    return { (_: StatementBatchResults) throws(PostgresError) -> CommitResult in CommitResult() }
  }

  func countRows(_ counts: [ClickMinuteKey: Int64], partition: Int32) -> TableRows {
    TapCounts.rows(counts, partition: partition)
  }

  static let countAgain = [TapCounts.countAgain]

  func messages(
    partition: Int32, output: Int, from sequence: Int64, limit: Int, in connection: PostgresConnection
  ) throws(PostgresError) -> [NumberedMessage] {
    let rows = try rows(partition: partition, from: sequence, limit: limit, in: connection) {
      stored throws(PostgresError) in
      try connection.run(ReadClicks(stored: stored))
    }
    return ClickTracking.messages(rows.lazy.map { ($0.sequence, $0.accepted) })
  }
}

extension ClickTables {
  /// The tables that are cut by day, kept for as long as `retention` says.
  static func days(_ retention: Retention) -> DayTables {
    DayTables(
      [
        "click_tracking.impression_pack", "click_tracking.click_row", "click_tracking.stopped_action",
        "click_tracking.conversion",
      ],
      clientTables: ["click_tracking.click_row"],
      counts: CountTables("click_tracking", retention: retention),
      retention: retention)
  }
}
