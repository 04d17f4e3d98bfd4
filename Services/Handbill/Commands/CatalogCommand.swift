internal import AdCore
internal import Foundation
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Postgres
internal import Runtime

/// `handbill catalog`: advertisers, campaigns, ads, developers, apps, keys and settings.
enum CatalogCommand {
  static let command = Command(
    "catalog", summary: "Shows and changes advertisers, campaigns, ads, apps, keys and settings.",
    discussion: "A running console publishes each change within a second.", options: DatabaseAddress.options,
    subcommands: [
      Command(
        "apply", summary: "Writes the records of a file; what it does not name stays.",
        discussion: """
          The file is JSON, with the schema of 'handbill catalog schema'. It is written whole or not at all; everything
          that is wrong with it is told at once, section by section. App keys that have to be made are shown once.

          Where it is told where Kafka is, each app of the file then has the topic of its answers, as 'handbill topics
          create --app' makes it, and its rights, as 'handbill topics acls --apply' gives them: what is there stays, and
          what this login may not do is told. So is what the apps still lack before they get ads.
          """,
        options: KafkaAddress.options + [AccessCommand.principalOption],
        arguments: [CommandArgument("FILE", help: "The file; - for standard input.")],
        examples: [CommandExample("handbill catalog apply network.json", "Writes what the file says.")], run: apply),
      Command(
        "list", summary: "Shows the records, as a catalogue file writes them.",
        options: [
          .value(
            "kind", "KIND",
            help: "Only \(CatalogKind.allCases.map(\.rawValue).joined(separator: ", ")).")
        ],
        examples: [CommandExample("handbill catalog list --kind campaign", "All campaigns.")], run: list),
      Command(
        "set", summary: "Changes members of one record.",
        discussion: "Values are written as in a file, without quotes; lists with commas.",
        arguments: [
          CommandArgument("KEY", help: "The record's key, such as campaign/ferry-summer."),
          CommandArgument("MEMBER=VALUE", repeats: true, help: "Such as isPaused=true or targeting.countries=DE,FR."),
        ],
        examples: [
          CommandExample("handbill catalog set campaign/ferry-summer isPaused=true", "Stops a campaign."),
          CommandExample("handbill catalog set settings countries=DE,FR,JP", "Opens and closes countries (A5)."),
        ], run: set),
      Command(
        "delete", summary: "Deletes records; what was served, charged and counted of them stays.",
        discussion: """
          All of them go or none does. What others need goes with these alone: a campaign with its ads, say. An ad that was
          served before still counts and is paid for, within its time.
          """,
        arguments: [
          CommandArgument("KEY", repeats: true, help: "A record's key, as 'handbill catalog list' shows it.")
        ],
        examples: [
          CommandExample("handbill catalog delete ad/summer-1 campaign/ferry-summer", "A campaign and its only ad.")
        ], run: delete),
      Command(
        "publish", summary: "Publishes the whole catalogue once, with a heartbeat, where no console does.",
        discussion: "Readers believe it under the network's keys alone, which HANDBILL_TOKEN_KEYS must say.",
        options: KafkaAddress.options,
        examples: [CommandExample("handbill catalog publish", "After a change while the console was away.")],
        run: publish),
      Command(
        "schema", summary: "Writes the JSON schema of catalogue files.",
        examples: [CommandExample("handbill catalog schema > catalog.schema.json", "For an editor.")]
      ) { _ in
        Terminal.print(CatalogSchema.document.prettyText)
        return .success
      },
    ])

  /// The largest catalogue file that is read, in bytes.
  private static let fileBytesMaximum = CatalogFile.bytesMaximum

  /// Calls `body` with the catalogue's tables. Blocks.
  static func withStore<Result>(_ databaseURL: String, _ body: (CatalogStore) throws -> Result) throws -> Result {
    let configuration = try PostgresConfiguration(databaseURL, applicationName: "handbill-catalog")
    let pool = PostgresPool(configuration, size: 1)
    defer { pool.close() }
    return try body(CatalogStore(pool))
  }

  @Sendable private static func apply(_ invocation: Invocation) async throws -> ExitCode {
    let kafka = try KafkaAddress.ifGiven(invocation)
    let names = try AccessCommand.names(invocation)
    let (applied, provisioned) = try await onOwnThread { () -> (CatalogApplied, [AppProvisioning.Result]) in
      var applied = try write(invocation)
      let apps = applied.changes.filter { $0.kind != .deleted }.compactMap(\.app)
      guard let kafka, !apps.isEmpty else { return (applied, []) }
      let (results, steps) = AppProvisioning(apps: apps, kafka: kafka, names: names).make()
      applied.nextSteps = steps + applied.nextSteps.filter { $0.kind != .createTopic }
      return (applied, results)
    }
    try CatalogOutput.show(applied, invocation, provisioned: provisioned)
    return .success
  }

  /// Writes the file.
  private static func write(_ invocation: Invocation) throws -> CatalogApplied {
    let path = invocation.argument(0) ?? "-"
    let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
    guard let handle else { throw UsageError("FILE \(path) cannot be read") }
    let bytes = try handle.read(upToCount: fileBytesMaximum + 1) ?? Data()
    let file = try CatalogFile.draft(Array(bytes)).get()
    do {
      return try withStore(DatabaseAddress.address(invocation)) { store in try store.apply(file).get() }
    } catch  where !file.problems.isEmpty && !(error is CatalogProblems) {
      // What can be said without the database is said.
      let unchecked = CatalogProblem("file", "how its records suit the others was not checked: \(error)")
      throw CatalogProblems(file.problems + [unchecked])
    }
  }

  @Sendable private static func list(_ invocation: Invocation) async throws -> ExitCode {
    var kind: CatalogKind?
    if let text = invocation.text("kind") {
      kind = CatalogKind(rawValue: text)
      guard kind != nil else {
        throw UsageError("--kind must be one of \(CatalogKind.allCases.map(\.rawValue).joined(separator: ", "))")
      }
    }
    let rows = try await onOwnThread { [kind] in
      try withStore(DatabaseAddress.address(invocation)) { store in try store.list(kind: kind) }
    }
    if invocation.wantsJSON {
      let records = rows.map { row in
        JSONValue.object([
          JSONValue.Member("key", .text(row.key)), JSONValue.Member("version", .integer(row.version)),
          JSONValue.Member("record", row.body),
        ])
      }
      Terminal.print(JSONValue.list(records).prettyText)
    } else {
      for row in rows { Terminal.print("\(row.key) version \(row.version)\n  \(row.body.compactText)") }
    }
    return .success
  }

  @Sendable private static func publish(_ invocation: Invocation) async throws -> ExitCode {
    let kafka = try KafkaAddress(invocation).configuration(clientID: "handbill-catalog")
    let ring = try TokenKeys.ring(invocation, because: "readers believe the catalogue under the network's keys alone")
    let count = try await onOwnThread {
      let database = try PostgresConfiguration(DatabaseAddress.address(invocation), applicationName: "handbill-catalog")
      let pool = PostgresPool(database, size: 1)
      defer { pool.close() }
      return try CatalogPublisher.publishOnce(pool: pool, kafka: kafka, ring: ring, now: SystemClock().now)
    }
    let published: JSONValue = ["published": .integer(Int64(count))]
    Terminal.print(invocation.wantsJSON ? published.prettyText : "\(count) records published.")
    return .success
  }

  @Sendable private static func set(_ invocation: Invocation) async throws -> ExitCode {
    let key = invocation.argument(0) ?? ""
    var members: [(path: String, value: String)] = []
    for text in invocation.arguments.dropFirst() {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2 else { throw UsageError("write MEMBER=VALUE, not “\(TextSafety.singleLine(text))”") }
      members.append((parts[0], parts[1]))
    }
    let applied = try await onOwnThread { [members] in
      try withStore(DatabaseAddress.address(invocation)) { store in try store.set(key: key, members).get() }
    }
    try CatalogOutput.show(applied, invocation)
    return .success
  }

  @Sendable private static func delete(_ invocation: Invocation) async throws -> ExitCode {
    let applied = try await onOwnThread {
      try withStore(DatabaseAddress.address(invocation)) { try $0.delete(keys: invocation.arguments).get() }
    }
    try CatalogOutput.show(applied, invocation)
    return .success
  }
}

/// What a change of the catalogue did, for people and programs.
enum CatalogOutput {
  static func show(
    _ applied: CatalogApplied, _ invocation: Invocation, provisioned: [AppProvisioning.Result] = []
  ) throws {
    if invocation.wantsJSON {
      let changes = applied.changes.map { change in
        JSONValue.object([
          JSONValue.Member("key", .text(change.key)), JSONValue.Member("change", .text(change.kind.rawValue)),
          JSONValue.Member("version", .integer(change.version)),
        ])
      }
      let keys = applied.newKeys.map { key in
        JSONValue.object([
          JSONValue.Member("app", .text(key.app.text)), JSONValue.Member("build", .text(key.build.name)),
          JSONValue.Member("key", .text(key.key)),
        ])
      }
      Terminal.print(
        JSONValue.object([
          JSONValue.Member("brokers", .list(provisioned.map(\.json))), JSONValue.Member("changes", .list(changes)),
          JSONValue.Member("newKeys", .list(keys)),
          JSONValue.Member("nextSteps", .list(applied.nextSteps.map(\.json))),
        ])
        .prettyText)
      return
    }
    let changed = applied.changes.filter { $0.kind != .unchanged }
    for change in changed { Terminal.print("\(change.kind.rawValue) \(change.key), version \(change.version)") }
    Terminal.print("\(changed.count) records changed, \(applied.changes.count - changed.count) are as they were.")
    for result in provisioned { Terminal.print(result.text) }
    for key in applied.newKeys { Terminal.print("key of \(key.app) (\(key.build.name)), shown once: \(key.key)") }
    if let key = applied.newKeys.first {
      Terminal.print(
        "A build begins with: AdNetworkClient(app: \"\(key.app)\", key: \"\(key.key)\", via: .edge(\"https://EDGE\"))")
    }
    if provisioned.isEmpty, applied.nextSteps.contains(where: { $0.kind == .createTopic }) {
      Terminal.note(
        "No topic was made: 'handbill catalog apply' makes them where "
          + "\(CommonKeys.kafkaBootstrapServers.declaration.name) says where Kafka is.")
    }
    if !applied.nextSteps.isEmpty { Terminal.print("Still to be done:") }
    for step in applied.nextSteps { Terminal.print("  \(step.text)") }
    for app in Set(applied.nextSteps.map(\.app)).sorted() {
      Terminal.print("Then: handbill app check \(app) --key-file FILE --edge URL")
    }
  }
}
