import AdCore
import LocalProcesses
import Postgres
import TestServices
import TestValues
import Testing

@testable import Operations

@Suite("The prices of paid campaigns beside what else the catalogue has")
struct PaidCampaignTests {
  private func problems(_ result: Result<CatalogApplied, CatalogProblems>) -> String {
    if case .failure(let problems) = result { problems.description } else { "none" }
  }

  private func problems(_ records: [CatalogRecord], from old: CatalogRecord, to new: CatalogRecord) -> [String] {
    CatalogRules.problems(
      CatalogRules(
        after: Dictionary(uniqueKeysWithValues: (records + [new]).map { ($0.key, $0) }),
        changes: [CatalogRules.Change(path: "changed", old: old, new: new)])
    ).map(\.path)
  }

  @Test("those of several currencies are taken once it is said what a unit of each is worth, and as long as it is")
  func currencies() async throws {
    let store = CatalogStore(try await TestDatabase.pool())
    @Sendable func tokyo(_ kind: String, _ cpm: String) throws -> CatalogFile {
      try Samples.read(
        """
        {"advertisers": [{"id": "tokyo", "name": "Tokyo", "currency": "JPY", "timeZone": "Asia/Tokyo",
           "accountFunding": "500000.00"}],
         "campaigns": [{"id": "tokyo", "advertiser": "tokyo", "name": "Tokyo", "kind": "\(kind)", "cpm": "\(cpm)",
           "totalBudget": "400000.00", "flightStart": "2026-01-01T00:00:00Z", "flightEnd": "2027-01-01T00:00:00Z"}]}
        """)
    }
    let told = try await onOwnThread {
      _ = try store.apply(try Samples.read(Samples.file)).get()
      return [
        problems(try store.apply(try tokyo("house", "0"))),
        problems(try store.set(key: "campaign/tokyo", [("kind", "brand"), ("cpm", "150.00")])),
        problems(try store.set(key: "settings", [("currencyRates.JPY", "6700")])),
        problems(try store.apply(try tokyo("brand", "150.00"))),
        problems(try store.set(key: "settings", [("currencyRates.USD", "1000000")])),
        problems(try store.apply(try tokyo("brand", "150.00"))),
        problems(try store.apply(try Samples.read(#"{"settings": {"countries": ["US"]}}"#))),
        problems(try store.set(key: "settings", [("currencyRates.yen", "1")])),
      ]
    }
    let (dollar, yen) = ("there are paid campaigns in USD and", "there are paid campaigns in JPY and")
    #expect(told[0] == "none", "a house ad has no price")
    #expect(told[1].contains("settings.currencyRates: \(yen)") && told[1].contains(dollar), "\(told[1])")
    #expect(told[2] == "none" && told[4] == "none" && told[5] == "none")
    #expect(told[3].contains(dollar) && !told[3].contains(yen), "\(told[3])")
    #expect(told[6].contains(dollar) && told[6].contains(yen), "\(told[6])")
    #expect(told[7].contains("settings.currencyRates.yen: is no member here"), "\(told[7])")
  }

  @Test("B4: a budget that is less than an impression with its click is refused, the last nano counts")
  func budgets() async throws {
    let store = CatalogStore(try await TestDatabase.pool())
    let told = try await onOwnThread {
      _ = try store.apply(try Samples.read(Samples.file)).get()
      return try [
        ("totalBudget", "2.009999999"), ("dailyBudget", "2.009999999"), ("clickPrice", "499.990000001"),
        ("clickPrice", "499.99"), ("dailyBudget", "0"), ("totalBudget", "500"), ("totalBudget", "0"),
      ].map { problems(try store.set(key: "campaign/acme-summer", [($0.0, $0.1)])) }
    }
    let expected = [
      "totalBudget: it is 2.009999999, and an impression with its click costs 2.01", "dailyBudget: it is 2.009999999",
      "dailyBudget: it is 500.00, and an impression with its click costs 500.000000001", "none", "none", "none", "none",
    ]
    for (told, text) in zip(told, expected) { #expect(told.contains(text), "\(told)") }
  }

  @Test("what was so before it was refused keeps nobody from pausing a campaign")
  func pause() throws {
    let campaign = Campaign.sample { $0.totalBudget = 1 }
    var paused = campaign
    paused.isPaused = true
    let euro = try #require(Currency("EUR"))
    let others: [CatalogRecord] = [
      .advertiser(.sample()), .advertiser(.sample("rival") { $0.currency = euro }),
      .campaign(.sample("rival", of: try #require(AdvertiserID("rival")))),
    ]
    #expect(problems(others, from: .campaign(campaign), to: .campaign(paused)) == [])
    paused.totalBudget = 2
    #expect(problems(others, from: .campaign(campaign), to: .campaign(paused)) == ["changed.totalBudget"])
  }
}
