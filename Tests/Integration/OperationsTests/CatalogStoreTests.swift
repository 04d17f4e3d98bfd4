import AdCore
import Crypto
import JSON
import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations

@Suite("The catalogue's tables")
struct CatalogStoreTests {
  /// A store with the sample network in it.
  private func filled() async throws -> (CatalogStore, PostgresPool, CatalogApplied) {
    let pool = try await TestDatabase.pool()
    let applied = try await onOwnThread { try CatalogStore(pool).apply(try Samples.read(Samples.file)).get() }
    return (CatalogStore(pool), pool, applied)
  }

  private func problems(_ result: Result<CatalogApplied, CatalogProblems>) -> String {
    if case .failure(let problems) = result { problems.description } else { "none" }
  }

  @Test("a file is written whole; the same file again changes nothing and makes no key again")
  func applyTwice() async throws {
    let (store, _, applied) = try await filled()
    #expect(applied.changes.count == 8)
    #expect(applied.changes.allSatisfy { $0.kind == .created })
    #expect(applied.newKeys.map(\.build) == [.distribution])
    let again = try await onOwnThread { try store.apply(try Samples.read(Samples.file)).get() }
    #expect(again.changes.allSatisfy { $0.kind == .unchanged })
    #expect(again.changes.map(\.version) == applied.changes.prefix(again.changes.count).map(\.version))
    #expect(again.newKeys.isEmpty)
    let rows = try await onOwnThread { try store.list() }
    #expect(rows.count == 8)
    #expect(rows.allSatisfy { $0.record != nil })
  }

  @Test("no more records are written than services keep in memory; what is there can be changed and deleted")
  func recordsMaximum() async throws {
    let (_, pool, _) = try await filled()
    let file = """
      { "developers": [ { "id": "more-1", "name": "One" }, { "id": "more-2", "name": "Two" } ] }
      """
    let refused = try await onOwnThread { try CatalogStore(pool, recordsMaximum: 9).apply(try Samples.read(file)) }
    #expect(problems(refused).contains("catalogue: it would have 10 records, and can have 9"))
    #expect(try await onOwnThread { try CatalogStore(pool).list().count } == 8)
    let written = try await onOwnThread {
      try CatalogStore(pool, recordsMaximum: 10).apply(try Samples.read(file)).get()
    }
    #expect(written.changes.count == 2)
    // A bound that was passed before it was there keeps nobody from changing, and from making less of it.
    let store = CatalogStore(pool, recordsMaximum: 1)
    let renamed = file.replacing("Two", with: "Three")
    let changed = try await onOwnThread { try store.apply(try Samples.read(renamed)).get() }
    #expect(changed.changes.map(\.kind).contains(.changed))
    let deleted = try await onOwnThread { try store.delete(keys: ["developer/more-1"]).get() }
    #expect(deleted.changes.map(\.kind) == [.deleted])
  }

  @Test("what is there is told in pages, of one kind or of all, each behind the last key of the one before")
  func pages() async throws {
    let (store, _, _) = try await filled()
    try await onOwnThread {
      let all = try store.list().map(\.key).sorted()
      let first = try store.page(rowsMaximum: 2)
      #expect(first.items.count == 2 && first.total == Int64(all.count) && first.isCut)
      let rest = try store.page(after: first.items[1].key, rowsMaximum: 100)
      #expect(rest.total == Int64(all.count - 2) && !rest.isCut)
      #expect((first.items + rest.items).map(\.key).sorted() == all)
      let ads = try store.list(kind: .ad).map(\.key)
      _ = try store.delete(keys: [ads[0]]).get()
      #expect(try store.page(kind: .ad, rowsMaximum: 100).items.map(\.key).sorted() == Array(ads.dropFirst()))
    }
  }

  @Test("what is added changes nothing that is there, and brings nothing back")
  func add() async throws {
    let (store, _, _) = try await filled()
    let (keys, changed) = try await onOwnThread {
      let keys = try store.list(kind: .ad).map(\.key)
      _ = try store.delete(keys: [keys[0]]).get()
      return (keys, try store.set(key: "settings", [("countries", "DE")]).get().changes[0].version)
    }
    let added = try await onOwnThread { try store.add(try Samples.read(Samples.file)).get() }
    #expect(added.changes.isEmpty)
    let rows = try await onOwnThread { try store.list(includesDeleted: true) }
    #expect(rows.first { $0.key == keys[0] }?.deletedAt != nil)
    let settings = try #require(rows.first { $0.key == "settings" })
    #expect(settings.version == changed)
  }

  @Test("what is wrong in records and what is wrong between them is told at once, by its place")
  func together() async throws {
    let file = """
      {
        "apps": [
          {"id": "one", "developer": "nobody", "name": "One", "bundleID": "com.example.one", "isUnder17": false},
          {"id": "two", "developer": "new", "name": "Two", "bundleID": 2},
          {"id": "three", "developer": "new", "name": "Three", "bundleID": "com.example.three", "colour": "red"}
        ],
        "appKeys": [{"app": "two", "build": "developer"}, {"app": "four", "build": "developer"}],
        "developers": [{"id": "new"}],
        "campaigns": [{"id": "c", "advertiser": "nobody", "name": "C", "kind": "brand", "cpm": "x", "totalBudget": "1.00",
          "flightStart": "2026-01-01T00:00:00Z", "flightEnd": "2025-01-01T00:00:00Z"}],
        "ads": [{"id": "a", "campaign": "nowhere", "images": {}, "action": {"kind": "cover", "destination": "https://a.example"}}]
      }
      """
    let pool = try await TestDatabase.pool()
    defer { pool.close() }
    let result = try await onOwnThread {
      try CatalogStore(pool).apply(try CatalogFile.draft(Array(file.utf8)).get())
    }
    guard case .failure(let found) = result else {
      Issue.record("it was written")
      return
    }
    let paths = found.problems.map(\.path)
    for path in [
      "apps[0].isUnder17", "apps[0].developer", "apps[1].bundleID", "apps[2].colour", "appKeys[1].app",
      "developers[0].name", "campaigns[0].cpm", "campaigns[0].advertiser", "ads[0].campaign",
    ] { #expect(paths.contains(path), "\(path) in \(found)") }
    // What is in the file, and cannot be read, is not told as if it were not there.
    for path in ["apps[1].developer", "apps[2].developer", "appKeys[0].app"] {
      #expect(!paths.contains(path), "\(found)")
    }
    let sections = paths.map { String($0.prefix { $0 != "." }) }
    #expect(
      sections.reduce(into: [String]()) { if $0.last != $1 { $0.append($1) } } == [
        "apps[0]", "apps[1]", "apps[2]", "appKeys[1]", "developers[0]", "campaigns[0]", "ads[0]",
      ], "\(found)")
    #expect(try await onOwnThread { try CatalogStore(pool).list() }.isEmpty)
  }

  @Test("after a new app it is told what to do next, in the order of A9")
  func nextSteps() async throws {
    let (store, pool, applied) = try await filled()
    defer { pool.close() }
    #expect(
      applied.nextSteps.map(\.text) == [
        "app weather: where its own server speaks Kafka, its answers need a topic: handbill topics create --app weather"
      ])
    let bare = #"{"apps": [{"id": "bare", "developer": "sunny", "name": "Bare", "bundleID": "com.sunny.bare"}]}"#
    let next = try await onOwnThread { try store.apply(try Samples.read(bare)).get().nextSteps }
    #expect(next.map(\.kind) == [.createTopic, .signAgreement, .answerAudience, .enableAds, .makeKey])
    #expect(next.allSatisfy { $0.app.text == "bare" && $0.json["step"] == .text($0.kind.rawValue) })
    #expect(next.last?.text.contains(#"{"appKeys": [{"app": "bare", "build": "distribution"}]}"#) == true)
    // Each command does what it says.
    let rest = try await onOwnThread {
      _ = try store.set(key: "app/bare", [("isAgreementSigned", "true"), ("isUnder17", "false")]).get()
      return try store.set(key: "app/bare", [("areAdsEnabled", "true")]).get().nextSteps
    }
    #expect(rest.map(\.kind) == [.makeKey])
    let made = try await onOwnThread {
      try store.apply(try Samples.read(#"{"appKeys": [{"app": "bare", "build": "distribution"}]}"#)).get()
    }
    #expect(made.newKeys.count == 1 && made.nextSteps.isEmpty)
    #expect(try await onOwnThread { try store.apply(try Samples.read(bare)).get().nextSteps }.count == 3)
  }

  @Test("A1: a key is kept as its SHA-256 only, and a made one is told once")
  func keys() async throws {
    let (store, pool, applied) = try await filled()
    let made = try #require(applied.newKeys.first)
    let rows = try await onOwnThread { try store.list(kind: .appKey) }
    let hashes = rows.compactMap { row -> [UInt8]? in
      guard case .appKey(let key)? = row.record else { return nil }
      return key.keyHash
    }
    #expect(Set(hashes) == [SHA256.hash(Array(made.key.utf8)), SHA256.hash(Array("a key of twenty bytes".utf8))])
    let text = try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.query("SELECT string_agg(body::text, ' ') FROM catalog.history")[0].decode(0, String.self)
      }
    }
    #expect(!text.contains(made.key) && !text.contains("a key of twenty bytes"))
  }

  @Test("every change raises the version, also of a record that comes back after its deletion, and is kept")
  func versions() async throws {
    let (store, pool, _) = try await filled()
    let file = try Samples.read(#"{"developers": [{"id": "other", "name": "Other"}]}"#)
    let steps = try await onOwnThread {
      [
        try store.apply(file).get().changes, try store.set(key: "developer/other", [("name", "New")]).get().changes,
        try store.delete(keys: ["developer/other"]).get().changes, try store.apply(file).get().changes,
      ]
    }
    let versions = steps.flatMap { $0.map(\.version) }
    #expect(versions.count == 4 && zip(versions, versions.dropFirst()).allSatisfy { $0 < $1 })
    #expect(steps.map { $0.map(\.kind) } == [[.created], [.changed], [.deleted], [.created]])
    let history = try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.query(
          """
          SELECT count(DISTINCT h.change_number) || ' ' || (max(h.change_number) = r.change_number)::text
          FROM catalog.history h JOIN catalog.record r USING (key) WHERE key = 'developer/other'
          GROUP BY r.change_number
          """)[0].decode(0, String.self)
      }
    }
    #expect(history == "4 true", "each version tells the change that made it")
  }

  @Test("of changes made at once, each gets a version of its own")
  func concurrent() async throws {
    let (store, pool, _) = try await filled()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 1...12 {
        group.addTask {
          try await onOwnThread { _ = try store.set(key: "developer/sunny", [("name", "Sunny \(number)")]).get() }
        }
      }
      try await group.waitForAll()
    }
    let versions = try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.query("SELECT count(DISTINCT version) FROM catalog.history WHERE key = 'developer/sunny'")[0]
          .decode(0, Int64.self)
      }
    }
    #expect(versions == 13)
  }

  @Test("what others need is asked for, and nothing is written when one thing is wrong")
  func crossRecord() async throws {
    let store = CatalogStore(try await TestDatabase.pool())
    let text = """
      {"developers": [{"id": "fine", "name": "Fine"}],
       "apps": [{"id": "a", "developer": "nobody", "name": "A", "bundleID": "com.a",
         "exclusions": {"advertisers": ["nobody"]}}],
       "appKeys": [{"app": "nowhere", "build": "ad-hoc", "key": "0123456789abcdef"}],
       "ads": [{"id": "x", "campaign": "none", "images": {"320x50": "https://a.example/x"},
         "action": {"kind": "cover", "destination": "https://a.example/"}}]}
      """
    let result = try await onOwnThread { try store.apply(try Samples.read(text)) }
    let told = problems(result)
    for expected in [
      "4 problems", "apps[0].developer: there is no developer/nobody",
      "apps[0].exclusions.advertisers: there is no advertiser/nobody", "appKeys[0].app: there is no app/nowhere",
      "ads[0].campaign: there is no campaign/none",
    ] { #expect(told.contains(expected), "\(told)") }
    #expect(try await onOwnThread { try store.list().isEmpty })
  }

  @Test("D11: an ad's action suits its campaign's kind, whichever of them changes")
  func actions() async throws {
    let (store, _, _) = try await filled()
    let (ad, campaign) = try await onOwnThread {
      (
        try store.set(key: "ad/summer-1", [("action.kind", "leave")]),
        try store.set(key: "campaign/acme-summer", [("kind", "developer"), ("cpm", "0")])
      )
    }
    #expect(problems(ad).contains("action.kind: an ad of a brand campaign covers (D11)"))
    #expect(problems(campaign).contains("campaign/acme-summer.kind: does not suit ad/summer-1"))
  }

  @Test("A4: under 17 cannot be taken back for a bundle id, not by deleting the app either")
  func under17() async throws {
    let (store, pool, _) = try await filled()
    let app: @Sendable (String, String) -> String = { id, answer in
      #"""
      {"apps": [{"id": "\#(id)", "developer": "sunny", "name": "Kids", "bundleID": "com.sunny.kids",
        "isAgreementSigned": true, "isUnder17": \#(answer)}]}
      """#
    }
    let results = try await onOwnThread {
      [
        try store.apply(try Samples.read(app("kids", "true"))),
        try store.set(key: "app/kids", [("isUnder17", "false")]),
        try store.set(key: "app/kids", [("bundleID", "com.sunny.other")]), try store.delete(keys: ["app/kids"]),
        try store.apply(try Samples.read(app("kids-2", "false"))),
        try store.apply(try Samples.read(app("kids-3", "null"))),
      ]
    }
    #expect(problems(results[0]) == "none")
    #expect(problems(results[1]).contains("isUnder17: A4: com.sunny.kids was set to under 17"))
    #expect(problems(results[2]).contains("bundleID: A4: the bundle id of an app cannot change"))
    #expect(problems(results[3]) == "none")
    #expect(problems(results[4]).contains("isUnder17: A4: com.sunny.kids was set to under 17"))
    #expect(problems(results[5]) == "none", "the agreement comes first, so an app without an answer may begin (A9)")
    let error = await #expect(throws: PostgresError.self) {
      try await onOwnThread {
        try pool.withConnection { connection throws(PostgresError) in
          _ = try connection.execute(sql: "DELETE FROM catalog.under_17_bundle")
        }
      }
    }
    #expect(error?.isDataRefused == true)
  }

  @Test("A9: each step of setting up is refused before the one before it")
  func setUp() async throws {
    let (store, _, _) = try await filled()
    let steps: [(String, String, String)] = [
      ("isUnder17", "false", "the agreement comes before the primary audience (A9)"),
      ("areAdsEnabled", "true", "come before enabling ads (A9)"), ("isAgreementSigned", "true", "none"),
      ("areAdsEnabled", "true", "come before enabling ads (A9)"), ("isUnder17", "false", "none"),
      ("areAdsEnabled", "true", "none"),
    ]
    let told = try await onOwnThread {
      let new = #"{"apps": [{"id": "new", "developer": "sunny", "name": "New", "bundleID": "com.sunny.new"}]}"#
      _ = try store.apply(try Samples.read(new)).get()
      return try steps.map { try store.set(key: "app/new", [($0.0, $0.1)]) }
    }
    for (step, result) in zip(steps, told) {
      #expect(problems(result).contains(step.2), "\(step): \(problems(result))")
    }
  }

  @Test(
    "single members are set by their paths, and a mistake says what there is",
    arguments: [
      ("isPaused", "true", "none"), ("targeting.countries", "US,JP", "none"), ("targeting.countries", "", "none"),
      ("dailyBudget", "null", "none"), ("totalBudget", "12.5", "none"), ("isPaused", "yes", "give true or false"),
      ("targeting", "US", "name one of its members"), ("colour", "red", "is no member here"),
      ("id", "other", "would become campaign/other"), ("advertiser", "nobody", "there is no advertiser/nobody"),
      ("totalBudget", "much", "must be an amount"),
    ])
  func set(path: String, value: String, expected: String) async throws {
    let (store, _, _) = try await filled()
    let result = try await onOwnThread { try store.set(key: "campaign/acme-summer", [(path, value)]) }
    #expect(problems(result).contains(expected), "\(problems(result))")
  }

  @Test("what is needed by others is not deleted alone, and a currency stays")
  func references() async throws {
    let (store, _, _) = try await filled()
    let results = try await onOwnThread {
      [
        try store.delete(keys: ["advertiser/acme"]), try store.delete(keys: ["developer/none"]),
        try store.delete(keys: ["settings"]), try store.set(key: "advertiser/acme", [("currency", "EUR")]),
        try store.delete(keys: ["advertiser/acme", "campaign/acme-summer", "ad/summer-1"]),
      ]
    }
    let expected = [
      "is needed by campaign/acme-summer", "there is no such record", "cannot be deleted", "make a new advertiser",
      "none",
    ]
    for (result, text) in zip(results, expected) { #expect(problems(result).contains(text), "\(problems(result))") }
  }
}
