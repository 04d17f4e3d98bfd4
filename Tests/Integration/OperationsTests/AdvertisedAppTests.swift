import AdCore
import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations

@Suite("The app that an ad's store link leads to")
struct AdvertisedAppTests {
  @Test("M8, A4: the app in an ad's store link is in the catalogue, for users over 16, and stays as long as the ad")
  func advertisedApp() async throws {
    let store = CatalogStore(try await TestDatabase.pool())
    @Sendable func file(_ app: String) throws -> CatalogFile {
      try Samples.read(
        """
        {
          "campaigns": [{"id": "get-it", "advertiser": "acme", "name": "Get it", "kind": "developer", "clickPrice": "1.00",
            "totalBudget": "10.00", "flightStart": "2026-01-01T00:00:00Z", "flightEnd": "2027-01-01T00:00:00Z"}],
          "ads": [{"id": "get-1", "campaign": "get-it",
            "images": {"320x50": "https://images.example/p.png", "480x32": "https://images.example/l.png"},
            "action": {"kind": "leave", "destination": "https://store.example/?ref={click:\(app)}"}}]
        }
        """)
    }
    let results = try await onOwnThread {
      _ = try store.apply(try Samples.read(Samples.file)).get()
      let keys = try store.list(kind: .appKey).map(\.key)
      return [
        try store.apply(try file("nobody")), try store.apply(try file("weather")),
        try store.delete(keys: ["app/weather"] + keys),
        try store.set(key: "app/weather", [("isUnder17", "true")]),
        try store.set(key: "ad/get-1", [("action.destination", "https://store.example/?again={click:weather}")]),
      ]
    }
    let expected = [
      "ads[0].action.destination: there is no app/nobody", "none", "app/weather: is needed by ad/get-1", "none",
      "app/weather is for users under 17",
    ]
    for (result, text) in zip(results, expected) {
      let told = if case .failure(let problems) = result { problems.description } else { "none" }
      #expect(told.contains(text), "\(told)")
    }
  }
}
