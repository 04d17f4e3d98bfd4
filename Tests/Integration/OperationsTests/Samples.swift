import JSON

@testable import Operations

/// A small network as a catalogue file.
enum Samples {
  static let file = """
    {
      "settings": {"countries": ["US", "JP"]},
      "advertisers": [
        {"id": "acme", "name": "Acme", "currency": "USD", "timeZone": "America/New_York", "accountFunding": "5000.00"}
      ],
      "campaigns": [
        {"id": "acme-summer", "advertiser": "acme", "name": "Summer", "kind": "brand", "cpm": "10.00",
         "clickPrice": "2.00", "totalBudget": "4000.00", "dailyBudget": "500.00",
         "flightStart": "2026-01-01T00:00:00Z", "flightEnd": "2027-01-01T00:00:00Z",
         "targeting": {"countries": ["US"], "devices": ["phone"], "allowsUnder17": true}}
      ],
      "ads": [
        {"id": "summer-1", "campaign": "acme-summer",
         "images": {"320x50": "https://images.example/p.png", "480x32": "https://images.example/l.png"},
         "action": {"kind": "cover", "destination": "https://acme.example/summer"}}
      ],
      "developers": [{"id": "sunny", "name": "Sunny Apps"}],
      "apps": [
        {"id": "weather", "developer": "sunny", "name": "Weather", "bundleID": "com.sunny.weather",
         "isAgreementSigned": true, "isUnder17": false, "areAdsEnabled": true}
      ],
      "appKeys": [{"app": "weather", "build": "distribution"},
        {"app": "weather", "build": "developer", "key": "a key of twenty bytes"}]
    }
    """

  static func read(_ text: String) throws -> CatalogFile { try CatalogFile.read(Array(text.utf8)).get() }

  /// The problems of a file, each as its text; empty for a good file.
  static func problems(_ text: String) -> [String] {
    switch CatalogFile.read(Array(text.utf8)) {
    case .success: []
    case .failure(let problems): problems.problems.map(\.description)
    }
  }

  /// The sample with one member of one record replaced, or taken out by nil.
  static func file(section: String, member: String, _ value: JSONValue?) throws -> String {
    let file = try JSONValue.parse(Self.file.utf8)
    guard case .object(let sections) = file else { return "" }
    return JSONValue.object(
      sections.map { entry in
        guard entry.name == section else { return entry }
        guard case .list(let records) = entry.value, case .object(let members)? = records.first else {
          guard case .object(let members) = entry.value else { return entry }
          return JSONValue.Member(section, .object(replacing(member, value, members)))
        }
        return JSONValue.Member(section, .list([.object(replacing(member, value, members))] + records.dropFirst()))
      }
    ).compactText
  }

  private static func replacing(
    _ name: String, _ value: JSONValue?, _ members: [JSONValue.Member]
  ) -> [JSONValue.Member] {
    members.filter { $0.name != name } + (value.map { [JSONValue.Member(name, $0)] } ?? [])
  }
}
