internal import AdCore
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Pipeline
internal import Postgres
internal import Runtime

/// `handbill rejected`: what the services refused, and sending it again.
enum RejectedCommand {
  static let command = Command(
    "rejected", summary: "Shows what the services rejected, and sends it again.",
    discussion: """
      A record that no service can take is kept: its numbered reason, length and hash as long as the service keeps its
      batches, its bytes and headers, without what names its client, for 30 days (up to 64 KiB of one record and 4 MiB a
      minute and partition), its key for two. Beyond 3,000 records a minute and partition they are counted only.
      Nothing rejected is ever billed.
      """,
    options: DatabaseAddress.options,
    subcommands: [
      Command(
        "list", summary: "Shows rejected records, the latest first.",
        options: RejectedFilters.options + [
          .value("limit", "COUNT", default: "100", help: "The most records, 1 to \(RejectedQuery.rowsLimit)."),
          .flag("summary", help: "How many there are for each reason, in place of the records."),
        ],
        examples: [
          CommandExample("handbill rejected list --summary --since 1h", "Why, how many, since when: begin here."),
          CommandExample("handbill rejected list --reason tokenForged --topic ads.clicks", "Who forges clicks."),
        ], run: list),
      Command(
        "show", summary: "Tells everything known of one rejected record; exit 1 if nothing is.",
        discussion: """
          What the reason means and what to do about it, headers, bytes, the decoded event, its token, the batch, and
          what would become of it now. The token is read where HANDBILL_TOKEN_KEYS says the network's keys.
          """,
        arguments: [CommandArgument("REFERENCE", help: "\(RejectedFilters.reference).")],
        examples: [
          CommandExample("handbill rejected show click-tracking/ads.clicks/3/1207", "One click, and why not.")
        ], run: show),
      Command(
        "replay", summary: "Sends rejected impressions and clicks again, once their reason is gone.",
        discussion: """
          Each goes to its topic and partition, with its key and headers, and is decided like any other event; its time
          is still that of its token and age, and so it must come within 24 h of the event. Safe to repeat: a served ad
          counts one impression and each click once (M4), whatever is sent. Requests are not replayed: they are past
          their deadline. See first what --dry-run says; --yes sends. Exit 1 if something was not sent.
          """,
        options: RejectedFilters.options + [
          .value(
            "limit", "COUNT", default: "1000", help: "The most records, the latest; 1 to \(RejectedQuery.rowsLimit)."),
          .flag("dry-run", help: "Sends nothing: says what would be sent, and how it would be decided now."),
          .flag("yes", help: "Sends."),
        ] + KafkaAddress.options,
        arguments: [
          CommandArgument("REFERENCE", isRequired: false, repeats: true, help: "\(RejectedFilters.reference).")
        ],
        examples: [
          CommandExample(
            "handbill rejected replay --reason tokenKeyUnknown --dry-run", "After a forgotten key was added: a trial."),
          CommandExample("handbill rejected replay --reason tokenKeyUnknown --yes", "The same in earnest."),
        ], run: replay),
    ])

  @Sendable private static func list(_ invocation: Invocation) async throws -> ExitCode {
    if invocation.has("summary") { return try await summary(invocation) }
    let query = try RejectedFilters.query(invocation)
    let records = try await withRecords(invocation) { records, _ in try records.list(query) }
    write(invocation, json: records.json(\.json), text: KeptRecord.table(records))
    return .success
  }

  private static func summary(_ invocation: Invocation) async throws -> ExitCode {
    let query = try RejectedFilters.query(invocation)
    let (counts, notKept) = try await withRecords(invocation) { records, _ in
      (try records.counts(query), try records.notKept(query))
    }
    write(invocation, json: .list(counts.map(\.json)), text: RejectedCount.table(counts))
    if notKept > 0 {
      Terminal.note("\(TextTable.grouped(notKept)) more of that time, of any topic and reason, were only counted")
    }
    return .success
  }

  @Sendable private static func show(_ invocation: Invocation) async throws -> ExitCode {
    let query = RejectedQuery(references: try RejectedFilters.references(invocation))
    let ring = try TokenKeys.ring(invocation)
    let stories = try await withRecords(invocation) { rejected, pool in
      let records = try rejected.whole(query).items
      return try zip(records, try outlooks(of: records, under: ring, pool)).map { record, outlook in
        RejectedStory(record: record, batch: try rejected.batch(of: record), outlook: outlook)
      }
    }
    guard !stories.isEmpty else {
      Terminal.note("handbill rejected show: no such record; retention may have taken it")
      return .failure
    }
    write(
      invocation, json: stories.count == 1 ? stories[0].json : .list(stories.map(\.json)),
      text: stories.map(\.text).joined(separator: "\n"))
    return .success
  }

  @Sendable private static func replay(_ invocation: Invocation) async throws -> ExitCode {
    let query = try RejectedFilters.query(invocation)
    guard query.isSelective else {
      throw UsageError("say what is to be sent again: references, or a filter such as --reason or --since")
    }
    guard invocation.has("dry-run") != invocation.has("yes") else {
      throw UsageError("give --dry-run to see what would be sent, or --yes to send it")
    }
    let ring = try TokenKeys.ring(invocation)
    let kafka = invocation.has("yes") ? try KafkaAddress(invocation) : nil
    let report = try await withRecords(invocation) { rejected, pool in
      let found = try rejected.whole(query)
      let records = query.replayed(found.items)
      let rows = Array(zip(records, try outlooks(of: records, under: ring, pool)))
      let sendable = rows.filter(\.1.isSendable).map(\.0)
      return ReplayReport(
        rows: rows, sendable: sendable.count, sent: try kafka.map { try RejectedReplay.send(sendable, to: $0) },
        isCut: found.isCut, cutNote: found.cutNote("records", limit: RejectedQuery.rowsLimit))
    }
    write(invocation, json: report.json, text: report.text)
    let isFound = !report.rows.isEmpty || query.references.isEmpty
    return report.isComplete && isFound ? .success : .failure
  }

  /// What would become of each record now; the windows are those that the services note.
  private static func outlooks(
    of records: [KeptRecord], under ring: KeyRing?, _ pool: PostgresPool
  ) throws -> [ReplayOutlook] {
    let now = SystemClock().now
    let tokens = try ring.map { try EventTokens(ring: $0) }
    return try pool.withConnection { connection throws(PostgresError) in
      let judge = try ReplayJudge(tokens: tokens, connection: connection)
      return try records.map { record throws(PostgresError) in try judge.judge(record, now: now) }
    }
  }

  /// Asks the database, on a thread of its own.
  private static func withRecords<Result: Sendable>(
    _ invocation: Invocation, _ body: @escaping @Sendable (RejectedRecords, PostgresPool) throws -> Result
  ) async throws -> Result {
    let address = try DatabaseAddress.address(invocation)
    return try await onOwnThread {
      try ReportCommand.withPool(address) { pool in try body(RejectedRecords(pool), pool) }
    }
  }

  private static func write(_ invocation: Invocation, json: JSONValue, text: String) {
    Terminal.write(invocation.wantsJSON ? json.prettyText + "\n" : text, to: Terminal.standardOutput)
  }
}

extension RejectedQuery {
  /// What is sent again of the records found: oldest first, as they came. What was replayed before and rejected again is
  /// stood for by its original, or each replay would double it; named by its reference, it is told why.
  fileprivate func replayed(_ found: [KeptRecord]) -> [KeptRecord] {
    found.reversed().filter { !references.isEmpty || $0.replayOf == nil }
  }
}
