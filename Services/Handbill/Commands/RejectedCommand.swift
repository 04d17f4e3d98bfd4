internal import AdCore
internal import AdEvents
internal import Foundation
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Postgres
internal import Runtime

/// `handbill rejected`: what the services refused, and sending it again.
enum RejectedCommand {
  private static let filters: [CommandOption] = [
    .value("service", "NAME", help: "Only what this service rejected, such as click-tracking."),
    .value("topic", "NAME", help: "Only of this topic, such as ads.clicks."),
    .value(
      "reason", "REASON", repeats: true,
      help: "Only for this reason, by number or name, such as 75 or tokenKeyUnknown; may be repeated."),
    .value("since", "TIME", help: "What arrived from this moment on: a day, a moment in UTC, or so long ago as 2h."),
    .value("until", "TIME", help: "What arrived before this moment."),
  ]
  private static let reference = "SERVICE/TOPIC/PARTITION/OFFSET, as the list shows it"

  static let command = Command(
    "rejected", summary: "Shows what the services rejected, and sends it again.",
    discussion: """
      A record that no service can take is kept, with its numbered reason, its bytes, key and headers (up to 64 KiB of
      one record and 4 MiB a minute and partition; beyond it length and hash; beyond 3,000 records they are counted
      only), as long as the service keeps its batches.
      Nothing rejected is ever billed.
      """,
    options: DatabaseAddress.options,
    subcommands: [
      Command(
        "list", summary: "Shows rejected records, the latest first.",
        options: filters + [
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
        arguments: [CommandArgument("REFERENCE", help: "\(reference).")],
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
        options: filters + [
          .value(
            "limit", "COUNT", default: "1000", help: "The most records, the latest; 1 to \(RejectedQuery.rowsLimit)."),
          .flag("dry-run", help: "Sends nothing: says what would be sent, and how it would be decided now."),
          .flag("yes", help: "Sends."),
        ] + KafkaAddress.options,
        arguments: [CommandArgument("REFERENCE", isRequired: false, repeats: true, help: "\(reference).")],
        examples: [
          CommandExample(
            "handbill rejected replay --reason tokenKeyUnknown --dry-run", "After a forgotten key was added: a trial."),
          CommandExample("handbill rejected replay --reason tokenKeyUnknown --yes", "The same in earnest."),
        ], run: replay),
    ])

  // MARK: list

  @Sendable private static func list(_ invocation: Invocation) async throws -> ExitCode {
    let query = try query(invocation)
    let address = try DatabaseAddress.address(invocation)
    if invocation.has("summary") {
      let (counts, notKept) = try await onOwnThread {
        try ReportCommand.withPool(address) { pool in
          (try RejectedRecords(pool).counts(query), try RejectedRecords(pool).notKept(query))
        }
      }
      Terminal.write(
        invocation.wantsJSON ? JSONValue.list(counts.map(\.json)).prettyText + "\n" : RejectedCount.table(counts),
        to: Terminal.standardOutput)
      if notKept > 0 {
        Terminal.note("\(TextTable.grouped(notKept)) more of that time, of any topic and reason, were only counted")
      }
      return .success
    }
    let records = try await onOwnThread {
      try ReportCommand.withPool(address) { try RejectedRecords($0).list(query) }
    }
    Terminal.write(
      invocation.wantsJSON ? records.json(\.json).prettyText + "\n" : KeptRecord.table(records),
      to: Terminal.standardOutput)
    return .success
  }

  // MARK: show

  @Sendable private static func show(_ invocation: Invocation) async throws -> ExitCode {
    let query = RejectedQuery(references: try references(invocation))
    let address = try DatabaseAddress.address(invocation)
    let settings = try ReplaySettings(invocation)
    let stories = try await onOwnThread {
      try ReportCommand.withPool(address) { pool in
        let rejected = RejectedRecords(pool)
        let records = try rejected.whole(query).items
        let outlooks = try settings.outlooks(of: records, pool)
        return try zip(records, outlooks).map { record, outlook in
          RejectedStory(record: record, batch: try rejected.batch(of: record), outlook: outlook)
        }
      }
    }
    guard !stories.isEmpty else {
      Terminal.note("handbill rejected show: no such record; retention may have taken it")
      return .failure
    }
    if invocation.wantsJSON {
      Terminal.print((stories.count == 1 ? stories[0].json : .list(stories.map(\.json))).prettyText)
    } else {
      Terminal.write(stories.map(\.text).joined(separator: "\n"), to: Terminal.standardOutput)
    }
    return .success
  }

  // MARK: replay

  @Sendable private static func replay(_ invocation: Invocation) async throws -> ExitCode {
    let query = try query(invocation)
    guard query.isSelective else {
      throw UsageError("say what is to be sent again: references, or a filter such as --reason or --since")
    }
    guard invocation.has("dry-run") != invocation.has("yes") else {
      throw UsageError("give --dry-run to see what would be sent, or --yes to send it")
    }
    let address = try DatabaseAddress.address(invocation)
    let settings = try ReplaySettings(invocation)
    let kafka = invocation.has("yes") ? try KafkaAddress(invocation) : nil
    let report = try await onOwnThread {
      try ReportCommand.withPool(address) { pool in
        // Oldest first, as they came.
        let found = try RejectedRecords(pool).whole(query)
        var records = Array(found.items.reversed())
        // What was replayed and rejected again is stood for by its original, or each replay would double it.
        if query.references.isEmpty { records.removeAll { $0.replayOf != nil } }
        let outlooks = try settings.outlooks(of: records, pool)
        let sendable = zip(records, outlooks).filter(\.1.isSendable).map(\.0)
        var sent = 0
        if let kafka, !sendable.isEmpty {
          let replay = try RejectedReplay(kafka, topics: Set(sendable.map(\.reference.topic)))
          for record in sendable { try replay.send(record) }
          sent = replay.finish()
        }
        return ReplayReport(
          rows: Array(zip(records, outlooks)), sendable: sendable.count, sent: kafka == nil ? nil : sent,
          isCut: found.isCut, cutNote: found.cutNote("records", limit: RejectedQuery.rowsLimit))
      }
    }
    Terminal.write(invocation.wantsJSON ? report.json.prettyText + "\n" : report.text, to: Terminal.standardOutput)
    let isComplete = report.sendable == report.rows.count && (report.sent ?? report.sendable) == report.sendable
    let isFound = !report.rows.isEmpty || query.references.isEmpty
    return isComplete && isFound ? .success : .failure
  }

  // MARK: Words

  private static func references(_ invocation: Invocation) throws(UsageError) -> [RejectedReference] {
    try invocation.arguments.map { text throws(UsageError) in
      guard let found = RejectedReference(text) else {
        throw UsageError("REFERENCE must be \(reference), not “\(TextSafety.singleLine(text, bytesMaximum: 200))”")
      }
      return found
    }
  }

  private static func query(_ invocation: Invocation) throws(UsageError) -> RejectedQuery {
    var reasons: [RejectionReason] = []
    for text in invocation.texts("reason") {
      guard let reason = RejectionReason(text: text) else {
        let nearest = NearestName.find(text, among: RejectionReason.allCases.map(\.name))
        throw UsageError(
          "--reason must be a number from 64 or a name such as tokenForged"
            + (nearest.map { "; did you mean \($0)?" } ?? ""))
      }
      reasons.append(reason)
    }
    return RejectedQuery(
      service: try invocation.text("service").map { text throws(UsageError) in try PipelineSchema.named(text).service },
      topic: invocation.text("topic"), reasons: reasons, since: try moment("since", invocation),
      until: try moment("until", invocation), references: try references(invocation),
      rowsMaximum: try invocation.integer("limit", in: 1...RejectedQuery.rowsLimit) ?? 100)
  }

  private static func moment(_ option: String, _ invocation: Invocation) throws(UsageError) -> Timestamp? {
    guard let text = invocation.text(option) else { return nil }
    if let moment = Timestamp(utcText: text) ?? Timestamp(utcText: text + "T00:00:00Z") { return moment }
    guard let ago = DurationText.milliseconds(text), text.last?.isNumber == false else {
      throw UsageError("--\(option) must be a day, a moment such as 2026-07-01T12:00:00Z, or so long ago as 2h")
    }
    return SystemClock().now.advanced(byMilliseconds: -Int64(ago))
  }
}

/// The keys by which tokens are checked, as far as this command is told them; the windows are those that the services note.
struct ReplaySettings: Sendable {
  private static let ringKey = NetworkKeys.ring.optional()
  /// What it reads.
  static let keys = [ringKey.declaration]

  let ring: KeyRing?

  /// - Throws: `ConfigurationProblems` where one is set and wrong.
  init(_ invocation: Invocation) throws(ConfigurationProblems) {
    let commandLine = invocation.values.compactMapValues(\.last)
    ring = try ConfigurationReader.read(
      commandLine: commandLine, environment: ProcessInfo.processInfo.environment
    ) { reader in
      let ring = reader.value(Self.ringKey)
      return ring ?? nil
    }
  }

  /// What would become of each record now.
  func outlooks(of records: [KeptRecord], _ pool: PostgresPool) throws -> [ReplayOutlook] {
    let now = SystemClock().now
    let opener = try ring.map { try ServeTokenOpener(ring: $0) }
    return try pool.withConnection { connection throws(PostgresError) in
      let judge = try ReplayJudge(opener: opener, connection: connection)
      return try records.map { record throws(PostgresError) in try judge.judge(record, now: now) }
    }
  }
}

/// What a replay sent, or would send.
struct ReplayReport: Sendable {
  var rows: [(KeptRecord, ReplayOutlook)]
  var sendable: Int
  /// How many records Kafka took; nil for a trial.
  var sent: Int?
  /// Whether there are more records than the limit took, and which of them these are.
  var isCut: Bool
  var cutNote: String?

  var json: JSONValue {
    [
      "selected": .integer(Int64(rows.count)), "isCut": .flag(isCut), "sendable": .integer(Int64(sendable)),
      "sent": sent.map { .integer(Int64($0)) } ?? .null,
      "records": .list(
        rows.map { record, outlook in
          [
            "reference": .text("\(record.reference)"), "reason": .integer(Int64(record.reasonNumber)),
            "outlook": .text(outlook.kind.rawValue), "detail": .text(outlook.detail),
          ]
        }),
    ]
  }

  var text: String {
    guard !rows.isEmpty else { return "Nothing of that was rejected.\n" }
    var table = Operations.TextTable(["reference", "reason", "now", "detail"])
    table.rows = rows.map { record, outlook in
      [
        TextSafety.singleLine("\(record.reference)"), "\(record.reasonNumber) \(record.reason?.name ?? "?")",
        outlook.kind.rawValue, TextSafety.singleLine(outlook.detail),
      ]
    }
    let end =
      sent.map { "Sent \($0) of \(sendable) that can be sent, of \(rows.count) selected.\n" }
      ?? "Would send \(sendable) of \(rows.count). Nothing was sent.\n"
    return table.text + (cutNote.map { $0 + "\n" } ?? "") + end
  }
}
