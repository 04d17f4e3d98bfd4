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
  /// Shared by all partitions.
  private let memory: ClickMemory
  let consumers = ["billing"]

  init(windows: Windows, memory: ClickMemory = ClickMemory()) {
    self.windows = windows
    self.memory = memory
  }

  func load(
    _ partition: Int32, now: Timestamp, from connection: PostgresConnection
  ) throws(PostgresError) -> ClickDecider {
    // On which ads clicks wait is read by its batches.
    ClickDecider(windows: windows, memory: memory)
  }

  /// All questions in one round trip that need no other's answer, and in a second one what waiting clicks make necessary. What
  /// the timer asks comes before them; what is rare has round trips of its own.
  func lookUp(
    _ query: ClickQuery, partition: Int32, in connection: PostgresConnection
  ) throws(PostgresError) -> ClickKnowledge {
    let expired = try query.expired.map { asked throws(PostgresError) in
      try self.expired(asked, partition: partition, in: connection)
    }
    var statements = StatementBatch()
    let clicks = query.identities.filter { $0.kind == .click }
    let stopped = query.identities.subtracting(clicks)
    let findClicks = clicks.isEmpty ? nil : statements.send(FindClicks(partition: partition, identities: Array(clicks)))
    let findStopped =
      stopped.isEmpty ? nil : statements.send(FindStoppedActions(partition: partition, identities: Array(stopped)))
    let findImpressions =
      query.serves.isEmpty
      ? nil : statements.send(FindTappedImpressions(partition: partition, ids: Array(query.serves)))
    let findJudged = query.clients.isEmpty ? nil : statements.send(judged(of: query.clients.keys, query, partition))
    let waitedFor = Array(query.waitedFor) + (expired ?? [])
    let findWaiting =
      query.clients.isEmpty && waitedFor.isEmpty
      ? nil
      : statements.send(
        FindWaitingClicks(partition: partition, clients: Array(query.clients.keys), serves: waitedFor))
    let results = try connection.run(statements)

    var known = ClickKnowledge()
    known.serves = query.serves
    known.expired = expired ?? []
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
      let waiting = try results.rows(findWaiting)
      try lookUpWaiting(waiting, query, partition: partition, into: &known, in: connection)
    }
    known.unseen = try query.unseen.map { page throws(PostgresError) in
      try unseen(ReadServesWithClicks(partition: partition, page: page), in: connection)
    }
    try lookUpConversions(query, partition: partition, into: &known, in: connection)
    return known
  }

  /// What was judged of clients with their ads' times, which bound the days that are looked into.
  private func judged(
    of clients: some Collection<ClickClient>, _ query: ClickQuery, _ partition: Int32,
    waiting: [ClickClient: [ParkedClick]] = [:]
  ) -> FindJudgedClicks {
    let times = clients.compactMap { client in
      query.serveTimes(of: client, waiting: waiting[client] ?? [], windows: windows).map { (client, $0) }
    }
    return FindJudgedClicks(partition: partition, clients: Dictionary(times) { first, _ in first })
  }

  /// Clicks that wait, with the views of their ads, and what was judged of their clients as far as it weighs against them.
  private func lookUpWaiting(
    _ clicks: [ParkedClick], _ query: ClickQuery, partition: Int32, into known: inout ClickKnowledge,
    in connection: PostgresConnection
  ) throws(PostgresError) {
    guard !clicks.isEmpty else { return }
    let waiting = Dictionary(grouping: clicks, by: \.client)
    var statements = StatementBatch()
    let serves = Set(clicks.map(\.terms.serveID)).subtracting(query.serves)
    let findViews = statements.send(FindTappedImpressions(partition: partition, ids: Array(serves)))
    let findJudged = statements.send(judged(of: waiting.keys, query, partition, waiting: waiting))
    let results = try connection.run(statements)
    for found in try results.rows(findViews) { known.seenAt[found.serveID] = found.shownAt }
    for (client, clicks) in waiting {
      known.clients[client, default: ClientClicks()].judged = []
      known.clients[client]?.waiting = clicks
    }
    for found in try results.rows(findJudged) { known.clients[found.client]?.judged.append(found.click) }
  }

  /// A page without those that were seen.
  private func unseen(
    _ read: ReadServesWithClicks, in connection: PostgresConnection
  ) throws(PostgresError) -> UnseenPage {
    let found = try connection.run(read)
    let last = found.count < read.page.count ? nil : found.last
    guard !found.isEmpty else { return UnseenPage(answering: read.page, serves: [], last: last) }
    let find = FindTappedImpressions(partition: read.partition, ids: found.map(\.serveID))
    let seen = Set(try connection.run(find).map(\.serveID))
    return UnseenPage(answering: read.page, serves: found.filter { !seen.contains($0.serveID) }, last: last)
  }

  /// Ads that are read at once, where seen ones, whose clicks wait for others, may stand before those that are asked for.
  private static let expiredPageCount = 256

  private func expired(
    _ asked: ExpiredServes, partition: Int32, in connection: PostgresConnection
  ) throws(PostgresError) -> [ServeID] {
    var found: [UnseenServe] = []
    var next: UnseenPage.Query? = UnseenPage.Query(count: Self.expiredPageCount)
    while let page = next, found.count < asked.skipped + asked.count {
      let read = ReadServesWithClicks(partition: partition, page: page, expiry: asked.before)
      let answer = try unseen(read, in: connection)
      found += answer.serves
      next = answer.last.map { UnseenPage.Query(after: $0, count: page.count) }
    }
    return asked.of(found)
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
