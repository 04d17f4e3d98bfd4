import Operations
import Testing

@Suite("What a report is asked for")
struct ReportQueryTests {
  @Test(
    "a value that no row can have is a mistake that names those that there are",
    arguments: [
      ("device", "tablet", "phone, pad, unknown"), ("size", "banner", "320x50"), ("country", "Germany", "such as DE"),
      ("country", "de", "two capital letters"), ("day", "yesterday", "2026-07-01"), ("hour", "12", "T12:00:00Z"),
    ])
  func values(_ name: String, _ value: String, _ told: String) {
    guard case .failure(let mistakes) = ReportQuery.read([(name: name, value: value)]) else {
      Issue.record("it was read")
      return
    }
    #expect(mistakes.description.hasPrefix("\(name): ") && mistakes.description.contains(told), "\(mistakes)")
  }

  @Test("values that rows can have are none")
  func rightValues() {
    for (name, value) in [
      ("device", "pad"), ("device", "unknown"), ("size", "320x50"), ("country", "unknown"), ("day", "2026-07-01"),
      ("hour", "2026-07-01T12:00:00Z"), ("app", "any"), ("campaign", "any"),
    ] {
      guard case .success(let query) = ReportQuery.read([(name: name, value: value)]) else {
        Issue.record("\(name)=\(value) is refused")
        continue
      }
      #expect(query.filter.values.first == value)
    }
  }

  @Test("a list says what of a question has no part in it, in place of leaving it out")
  func lists() {
    let query = ReportQuery(grouping: [.day], filter: [.app: "chess", .country: "DE"], isTest: true)
    #expect(
      query.mistakes(inListBy: Conversions.dimensions)?.mistakes == [
        "country: has no part in it, which is chosen by app, campaign, ad, from and until", "group: has no part in it",
        "traffic: it is of live traffic alone",
      ])
    #expect(ReportQuery(filter: [.app: "chess"]).mistakes(inListBy: Anomalies.dimensions) == nil)
    #expect(ReportQuery(filter: [.ad: "a"]).mistakes(inListBy: Anomalies.dimensions)?.mistakes.count == 1)
  }

  @Test("a report that is asked for wrongly says everything that is wrong")
  func mistakes() {
    let words = [("group", "app,colour"), ("from", "soon"), ("traffic", "all"), ("limit", "0"), ("taste", "sweet")]
    guard case .failure(let mistakes) = ReportQuery.read(words.map { (name: $0.0, value: $0.1) }) else {
      Issue.record("it was read")
      return
    }
    #expect(mistakes.mistakes.count == 5)
  }
}
