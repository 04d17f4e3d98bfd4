import AdCore
import HTTP
import Operations

/// The parameters of the console's addresses: what stands after `?`, as it comes in.
enum ConsoleQueryTarget {
  static let target = FuzzTarget(
    "console-query", inputBytesMaximum: 2_048,
    words: ReportDimension.allCases.map(\.rawValue) + [
      "group=", "from=", "until=", "traffic=test", "limit=", "%C3%A4",
    ],
    seeds: { seeds }, fault: fault)

  private static func fault(_ input: UnsafeRawBufferPointer) -> String? {
    var words: [(name: String, value: String)] = []
    for part in input.text.split(separator: "&") {
      let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = PercentEncoding.decode(halves[0]),
        let value = PercentEncoding.decode(halves.count > 1 ? halves[1] : "")
      else { return nil }
      guard !(name + value).unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
        return "a control character came through"
      }
      words.append((name, value))
      if let id = UUIDv7(value), UUIDv7("\(id)") != id { return "an id reads back as another" }
      if case .id(let id)? = ExplainSubject.read(value), ExplainSubject.read("\(id)") != .id(id) {
        return "an id of base64 reads back as another"
      }
    }
    switch ReportQuery.read(words) {
    case .failure(let mistakes): return mistakes.mistakes.isEmpty ? "it was refused without a mistake" : nil
    case .success(let query):
      guard (1...ReportQuery.rowsLimit).contains(query.rowsMaximum) else { return "\(query.rowsMaximum) rows" }
      guard (try? ReportQuery.read(query.words(limit: query.rowsMaximum)).get()) == query else {
        return "the address of the rest asks for another report"
      }
      guard Set(query.grouping).count == query.grouping.count else { return "grouped twice by the same" }
      return query.filter.values.contains { $0.utf8.count > 200 } ? "a filter of more than 200 bytes" : nil
    }
  }

  private static var seeds: [[UInt8]] {
    [
      "group=app,day&from=2026-07-01&until=2026-07-02T12:00:00Z&traffic=live&limit=50",
      "campaign=ferry-summer&country=US&size=phonePortrait&device=phone&placement=a%20b&hour=2026-07-01T12:00:00Z",
      "group=&limit=0&nothing=%00", "id=01900000-0000-7000-8000-000000000000", "a=%F0%9F%98%80&b=%zz",
    ].map { Array($0.utf8) }
  }
}
