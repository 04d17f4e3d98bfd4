import AdCore
import LocalProcesses
import Postgres
import TestServices
import TestValues
import Testing

@testable import Operations

@Suite("The app that an ad's store link leads to")
struct AdvertisedAppTests {
  private static let link = "https://store.example/?ref={click:weather}"

  /// A campaign with an ad that leads to `destination`, and what else is said.
  private static func file(_ destination: String, _ more: String = "") throws -> CatalogFile {
    try Samples.read(
      """
      {
        "campaigns": [{"id": "get-it", "advertiser": "acme", "name": "Get it", "kind": "developer", "clickPrice": "1.00",
          "totalBudget": "10.00", "flightStart": "2026-01-01T00:00:00Z", "flightEnd": "2027-01-01T00:00:00Z"}],
        "ads": [{"id": "get-1", "campaign": "get-it",
          "images": {"320x50": "https://images.example/p.png", "480x32": "https://images.example/l.png"},
          "action": {"kind": "leave", "destination": "\(destination)"}}]\(more)
      }
      """)
  }

  @Test("M8, A4: the app in an ad's store link is in the catalogue, for users over 16, and stays as long as the ad")
  func advertisedApp() async throws {
    let store = CatalogStore(try await TestDatabase.pool())
    let under17 = """
      , "apps": [{"id": "weather", "developer": "sunny", "name": "Weather", "bundleID": "com.sunny.weather",
        "isAgreementSigned": true, "isUnder17": true, "areAdsEnabled": true}]
      """
    let results = try await onOwnThread {
      _ = try store.apply(try Samples.read(Samples.file)).get()
      let keys = try store.list(kind: .appKey).map(\.key)
      return [
        try store.apply(try Self.file("https://store.example/?ref={click:nobody}")),
        try store.apply(try Self.file(Self.link)), try store.delete(keys: ["app/weather"] + keys),
        // The ad has to go first, or with it; that the file has it as it was does not do.
        try store.set(key: "app/weather", [("isUnder17", "true")]),
        try store.apply(try Self.file(Self.link, under17)),
        try store.apply(try Self.file("https://store.example/", under17)),
        try store.set(key: "ad/get-1", [("action.destination", "https://store.example/?again={click:weather}")]),
      ]
    }
    let expected = [
      "ads[0].action.destination: there is no app/nobody", "none", "app/weather: is needed by ad/get-1",
      "app/weather.isUnder17: ad/get-1 leads to it", "apps[0].isUnder17: ad/get-1 leads to it", "none",
      "app/weather is for users under 17",
    ]
    for (result, text) in zip(results, expected) {
      let told = if case .failure(let problems) = result { problems.description } else { "none" }
      #expect(told.contains(text), "\(told)")
    }
  }

  @Test("a paused ad keeps no app from its answer, and goes on only once its link tells of nobody")
  func paused() async throws {
    let store = CatalogStore(try await TestDatabase.pool())
    let results = try await onOwnThread {
      _ = try store.apply(try Samples.read(Samples.file)).get()
      return [
        try store.apply(try Self.file(Self.link)), try store.set(key: "ad/get-1", [("isPaused", "true")]),
        try store.set(key: "app/weather", [("isUnder17", "true")]),
        try store.set(key: "ad/get-1", [("isPaused", "false")]),
        try store.set(key: "ad/get-1", [("action.destination", "https://store.example/"), ("isPaused", "false")]),
      ]
    }
    for (result, text) in zip(results, ["none", "none", "none", "app/weather is for users under 17", "none"]) {
      let told = if case .failure(let problems) = result { problems.description } else { "none" }
      #expect(told.contains(text), "\(told)")
    }
  }

  @Test("an ad whose app became one for users under 17 before this was refused can be paused all the same")
  func pause() {
    let campaign = Campaign.sample { $0.kind = .developer }
    let ad = Ad.sample { $0.action = AdAction(kind: .leave, destination: Self.link) }
    func problems(_ change: (inout Ad) -> Void) -> [String] {
      var new = ad
      change(&new)
      let records: [CatalogRecord] = [.app(.sample { $0.isUnder17 = true }), .campaign(campaign), .ad(new)]
      return CatalogRules.problems(
        CatalogRules(
          after: Dictionary(uniqueKeysWithValues: records.map { ($0.key, $0) }),
          changes: [CatalogRules.Change(path: "ad", old: .ad(ad), new: .ad(new))])
      ).map(\.path)
    }
    #expect(problems { $0.isPaused = true } == [])
    #expect(problems { $0.action.destination += "&again={click:weather}" } == ["ad.action.destination"])
  }
}
