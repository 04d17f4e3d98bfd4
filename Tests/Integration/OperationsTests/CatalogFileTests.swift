import AdCore
import Foundation
import JSON
import LocalProcesses
import Testing

@testable import Operations

@Suite("Catalogue files")
struct CatalogFileTests {
  @Test("a good file is read; CPM becomes the price of one impression in nanos (B3)")
  func good() throws {
    let file = try Samples.read(Samples.file)
    #expect(file.entries.count == 7)
    #expect(file.newKeys.map(\.build) == [.distribution])
    guard case .campaign(let campaign)? = file.entries.first(where: { $0.path == "campaigns[0]" })?.record else {
      Issue.record("the campaign is missing")
      return
    }
    #expect(campaign.impressionPrice == Nanos(10_000_000))
    #expect(campaign.clickPrice == Nanos(2_000_000_000))
    #expect(campaign.dailyBudget == 500_000_000_000)
    #expect(campaign.targeting.devices == [.phone])
  }

  @Test("what is written is read as the same record")
  func roundTrip() throws {
    let file = try Samples.file(section: "settings", member: "currencyRates", ["USD": 1_000_000, "JPY": 6_700])
    for entry in try Samples.read(file).entries {
      let value = try JSONValue.parse(CatalogJSON.value(of: entry.record).prettyText.utf8)
      #expect(CatalogJSON.record(stored: value, kind: CatalogKind(of: entry.record)) == entry.record)
    }
  }

  @Test(
    "each fault is told with its path and what to change",
    arguments: [
      ("advertisers", "currency", "dollars", "advertisers[0].currency: must be three letters"),
      ("advertisers", "accountFunding", "1,000", "advertisers[0].accountFunding: must be an amount"),
      ("advertisers", "timeZone", "Mars/Base", "advertisers[0].timeZone: “Mars/Base” is not an IANA time zone"),
      ("campaigns", "cpm", "0.0000001", "campaigns[0].cpm: is 0.0000001: one impression costs a thousandth"),
      ("campaigns", "cpm", "-1", "campaigns[0].cpm: it is -0.001: a price is 0 or more"),
      ("campaigns", "cpm", 10, "campaigns[0].cpm: must be an amount as text"),
      ("campaigns", "kind", "developer", "campaigns[0].cpm: a developer campaign pays for clicks only (B1)"),
      ("campaigns", "flightEnd", "2025-01-01T00:00:00Z", "the flight must end after its start"),
      ("campaigns", "flightEnd", "tomorrow", "campaigns[0].flightEnd: must be a moment in UTC"),
      ("campaigns", "advertiser", nil, "campaigns[0].advertiser: is missing"),
      ("campaigns", "budget", "1.00", "campaigns[0].budget: is no member here"),
      ("campaigns", "targeting", ["devices": ["tv"]], "campaigns[0].targeting.devices[0]: must be a device"),
      ("ads", "images", ["1x1": "https://a.example/x"], "ads[0].images.1x1: must be a URL for a size: 320x50"),
      ("ads", "images", ["320x50": "file:///x"], "ads[0].images.320x50: “file:///x” is not an http or https URL"),
      ("ads", "action", ["kind": "cover"], "ads[0].action.destination: is missing"),
      ("ads", "lifetimeMilliseconds", 1, "ads[0].lifetimeMilliseconds: must be a whole number from 300000 to 900000"),
      ("apps", "isAgreementSigned", false, "apps[0].isUnder17: the agreement comes before the primary audience (A9)"),
      ("apps", "isUnder17", .null, "the agreement and the primary audience come before enabling ads (A9)"),
      ("apps", "id", "Weather App", "apps[0].id: must be 1 to 40 of a-z"),
      ("appKeys", "key", "short", "appKeys[0].key: must have 16 to 256 bytes"),
      ("settings", "countries", ["USA"], "settings.countries[0]: must be a country's code"),
      ("settings", "countries", .list([]), "settings.countries: list at least one country"),
      ("settings", "currencyRates", ["yen": 1], "settings.currencyRates.yen: must be a currency's three letters"),
      ("settings", "currencyRates", ["JPY": 0], "settings.currencyRates.JPY: must be a currency's three"),
      ("settings", "currencyRates", ["JPY": "0.1"], "settings.currencyRates.JPY: must be a currency's three"),
    ] as [(String, String, JSONValue?, String)])
  func faults(section: String, member: String, value: JSONValue?, expected: String) throws {
    let problems = Samples.problems(try Samples.file(section: section, member: member, value))
    #expect(problems.contains { $0.contains(expected) }, "\(problems)")
  }

  @Test("all problems of a file are told together")
  func allAtOnce() throws {
    let text = #"{"advertisers": [{"id": "A"}, 7], "apps": {}, "extra": []}"#
    let problems = Samples.problems(text)
    #expect(problems.count == 8)
    for start in ["advertisers[0].id", "advertisers[0].name", "advertisers[1]", "apps:", "extra:"] {
      #expect(problems.contains { $0.hasPrefix(start) }, "\(start) is not told: \(problems)")
    }
  }

  @Test(
    "what is no JSON, or says a member twice, is refused",
    arguments: ["", "{", "[1]", "7", #"{"ads":[],"ads":[]}"#])
  func syntax(text: String) {
    #expect(Samples.problems(text).count == 1)
  }

  @Test("the same record twice is refused")
  func repeated() {
    let text = #"{"developers": [{"id": "a", "name": "A"}, {"id": "a", "name": "B"}]}"#
    #expect(Samples.problems(text) == ["developers[1]: is developer/a, as developers[0] is: leave one of them"])
  }

  @Test("every required member is declared as one, and no other", arguments: CatalogKind.inFiles)
  func required(kind: CatalogKind) throws {
    for field in kind.fields {
      let problems = Samples.problems(try Samples.file(section: kind.section, member: field.name, nil))
      let isMissed = problems.contains { $0.contains(".\(field.name): is missing") }
      #expect(isMissed == field.isRequired, "\(kind.section).\(field.name): \(problems)")
    }
  }

  @Test("docs/catalog.schema.json is what the program's declarations say")
  func schema() throws {
    let path = PackageRoot.path("docs/catalog.schema.json")
    let text = CatalogSchema.document.prettyText + "\n"
    if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] == "1" {
      try text.write(toFile: path, atomically: true, encoding: .utf8)
    }
    #expect(
      try String(contentsOfFile: path, encoding: .utf8) == text, "write it anew: UPDATE_DOCUMENTS=1 swift test")
  }
}
