import LocalProcesses
import Operations
import TestServices
import Testing

/// What of a record that was deleted still binds.
@Suite("Deleted records of the catalogue")
struct DeletedRecordTests {
  private func problems(_ result: Result<CatalogApplied, CatalogProblems>) -> String {
    if case .failure(let problems) = result { problems.description } else { "none" }
  }

  @Test("made anew it keeps what its budget and its ads are booked under: currency, advertiser, campaign")
  func madeAnew() async throws {
    let store = CatalogStore(try await TestDatabase.pool())
    try await onOwnThread {
      _ = try store.apply(try Samples.read(Samples.file)).get()
      _ = try store.delete(keys: ["advertiser/acme", "campaign/acme-summer", "ad/summer-1"]).get()
      for (others, old) in [
        (Samples.file.replacing("USD", with: "EUR"), "USD"),
        (Samples.file.replacing("\"acme\"", with: "\"rival\""), "acme"),
        (Samples.file.replacing("acme-summer", with: "acme-winter"), "acme-summer"),
      ] {
        let refused = problems(try store.apply(try Samples.read(others)))
        #expect(refused.contains("it is \(old) and cannot change"), "\(refused)")
      }
      #expect(problems(try store.apply(try Samples.read(Samples.file))) == "none")
    }
  }

  @Test("A4: an app made anew keeps its bundle id, for its builds are still out; its steps begin again (A9)")
  func appMadeAnew() async throws {
    let store = CatalogStore(try await TestDatabase.pool())
    @Sendable func app(_ bundle: String, _ answer: String) throws -> CatalogFile {
      try Samples.read(
        """
        {"apps": [{"id": "kids", "developer": "sunny", "name": "Kids", "bundleID": "\(bundle)",
          "isAgreementSigned": true, "isUnder17": \(answer)}]}
        """)
    }
    try await onOwnThread {
      _ = try store.apply(try Samples.read(Samples.file)).get()
      _ = try store.apply(try app("com.sunny.kids", "true")).get()
      _ = try store.delete(keys: ["app/kids"]).get()
      for answer in ["false", "true", "null"] {
        let refused = problems(try store.apply(try app("com.sunny.other", answer)))
        #expect(refused.contains("apps[0].bundleID: A4: the bundle id of an app cannot change"), "\(refused)")
      }
      #expect(problems(try store.apply(try app("com.sunny.kids", "false"))).contains("apps[0].isUnder17: A4"))
      #expect(problems(try store.apply(try app("com.sunny.kids", "null"))) == "none")
    }
  }

  @Test("an advertiser that an app does not show is not deleted before the app's exclusion of it")
  func excluded() async throws {
    let store = CatalogStore(try await TestDatabase.pool())
    try await onOwnThread {
      _ = try store.apply(try Samples.read(Samples.file)).get()
      _ = try store.apply(
        try Samples.read(
          """
          { "advertisers": [
            { "id": "rival", "name": "Rival", "currency": "USD", "timeZone": "UTC", "accountFunding": "1.00" } ] }
          """)
      ).get()
      _ = try store.set(key: "app/weather", [("exclusions.advertisers", "rival")]).get()
      #expect(problems(try store.delete(keys: ["advertiser/rival"])).contains("is needed by app/weather"))
      _ = try store.set(key: "app/weather", [("exclusions.advertisers", "")]).get()
      #expect(problems(try store.delete(keys: ["advertiser/rival"])) == "none")
    }
  }
}
