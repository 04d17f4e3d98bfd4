package import AdCore

/// A way of looking at the figures (M6).
package enum ReportDimension: String, CaseIterable, Sendable {
  case app
  case campaign
  case ad
  case country
  case size
  case device
  case placement
  /// In UTC.
  case day
  /// In UTC.
  case hour

  var isTime: Bool { self == .day || self == .hour }

  /// Several of them, in words.
  var plural: String { self == .country ? "countries" : rawValue + "s" }

  /// What is wrong with a value that no row can have; nil where nothing is, or nobody can tell without the tables.
  fileprivate func mistake(_ value: String) -> String? {
    let values: [String]
    switch self {
    case .size: values = AdSize.allCases.map(\.name)
    case .device: values = Device.allCases.map(\.name)
    case .country:
      return Country(value) != nil || value == Self.unknown
        ? nil : "country: “\(value.prefix(40))” is no code of two capital letters, such as DE, nor \(Self.unknown)"
    case .day, .hour:
      let time = self == .day ? value + "T00:00:00Z" : value
      return Timestamp(utcText: time) != nil
        ? nil : "\(self): give one such as \(self == .day ? "2026-07-01" : "2026-07-01T12:00:00Z")"
    case .app, .campaign, .ad, .placement: return nil
    }
    return values.contains(value) || value == Self.unknown
      ? nil : "\(self): “\(value.prefix(40))” is none of \(values.joined(separator: ", ")), \(Self.unknown)"
  }

  /// What stands where a request did not tell it.
  private static let unknown = "unknown"
}

/// What a report is asked for.
package struct ReportQuery: Hashable, Sendable {
  /// One row for each combination; none gives the total only.
  package var grouping: [ReportDimension]
  /// Only what has these values.
  package var filter: [ReportDimension: String]
  /// From this minute on, and before that one; of requests their arrival counts, of everything else the event's time.
  package var from: Timestamp?
  package var until: Timestamp?
  /// Test traffic in place of live traffic (A2).
  package var isTest: Bool
  /// The most rows; a report with more is cut by worth, or to the latest times, and says so.
  package var rowsMaximum: Int

  /// The most rows of any report.
  package static let rowsLimit = 10_000
  package static let rowsDefault = 1_000

  package init(
    grouping: [ReportDimension] = [], filter: [ReportDimension: String] = [:], from: Timestamp? = nil,
    until: Timestamp? = nil, isTest: Bool = false, rowsMaximum: Int = ReportQuery.rowsDefault
  ) {
    self.grouping = grouping
    self.filter = filter
    self.from = from
    self.until = until
    self.isTest = isTest
    self.rowsMaximum = min(max(1, rowsMaximum), ReportQuery.rowsLimit)
  }

  /// The dimension by which what it asks for is rolled up; nil where it needs several, or parts of hours.
  var rollup: String? {
    let dimensions = Set(grouping + filter.keys).filter { !$0.isTime }
    let isWhole = [from, until].allSatisfy { $0.map { $0.milliseconds % Self.hourMilliseconds == 0 } ?? true }
    return isWhole && dimensions.count <= 1 ? dimensions.first?.rawValue ?? Self.everything : nil
  }

  /// What to ask for where it takes too long.
  var advice: String {
    rollup == nil
      ? "By several dimensions, and of parts of hours, every count is read by itself: ask for less time (from, until), or by "
        + "one dimension and whole hours"
      : "Ask for less time (from, until)"
  }

  /// Where the finest time stands in the grouping; nil where rows go by worth.
  var timeIndex: Int? { grouping.firstIndex(of: .hour) ?? grouping.firstIndex(of: .day) }

  /// The words that ``read(_:)`` reads, for the same report with room for so many rows.
  package func words(limit: Int) -> [(name: String, value: String)] {
    var words = grouping.isEmpty ? [] : [(name: "group", value: grouping.map(\.rawValue).joined(separator: ","))]
    words += filter.sorted { $0.key.rawValue < $1.key.rawValue }.map { (name: $0.key.rawValue, value: $0.value) }
    if let from { words.append((name: "from", value: from.utcText)) }
    if let until { words.append((name: "until", value: until.utcText)) }
    if isTest { words.append((name: "traffic", value: "test")) }
    return words + [(name: "limit", value: String(min(limit, Self.rowsLimit)))]
  }

  /// Reads the words of a command or a URL: `group=app,day`, a filter for each dimension, `from`, `until`, `traffic`,
  /// `limit`. All that is wrong is told together.
  package static func read(
    _ words: [(name: String, value: String)]
  ) -> Result<ReportQuery, ReportMistakes> {
    var query = ReportQuery()
    var mistakes: [String] = []
    for (name, value) in words {
      switch name {
      case "group":
        let names = value.split(separator: ",").map(String.init)
        for name in names where ReportDimension(rawValue: name) == nil {
          mistakes.append("group: “\(name.prefix(40))” is none of \(dimensionNames)")
        }
        query.grouping = names.compactMap(ReportDimension.init(rawValue:))
        if Set(names).count < names.count { mistakes.append("group: a dimension stands twice") }
      case "from": query.from = moment(name, value, &mistakes)
      case "until": query.until = moment(name, value, &mistakes)
      case "traffic":
        if !["live", "test"].contains(value) { mistakes.append("traffic: give live or test") }
        query.isTest = value == "test"
      case "limit":
        guard let rows = Int(value), (1...rowsLimit).contains(rows) else {
          mistakes.append("limit: give 1 to \(rowsLimit)")
          continue
        }
        query.rowsMaximum = rows
      default:
        guard let dimension = ReportDimension(rawValue: name) else {
          mistakes.append("\(name.prefix(40)): is none of group, from, until, traffic, limit, \(dimensionNames)")
          continue
        }
        guard value.utf8.count <= valueBytesMaximum else {
          mistakes.append("\(name): is longer than \(valueBytesMaximum) bytes")
          continue
        }
        if query.filter[dimension] != nil { mistakes.append("\(name): stands twice, and a report is of one") }
        if let mistake = dimension.mistake(value) { mistakes.append(mistake) }
        query.filter[dimension] = value
      }
    }
    if let from = query.from, let until = query.until, from >= until { mistakes.append("until: lies not after from") }
    return mistakes.isEmpty ? .success(query) : .failure(ReportMistakes(mistakes: mistakes))
  }

  /// What is wrong with it where a list of live traffic is asked for, which these dimensions alone choose; nil for nothing.
  package func mistakes(inListBy dimensions: [ReportDimension]) -> ReportMistakes? {
    let names = dimensions.map(\.rawValue).joined(separator: ", ")
    var mistakes = filter.keys.filter { !dimensions.contains($0) }.map(\.rawValue).sorted()
      .map { "\($0): has no part in it, which is chosen by \(names), from and until" }
    if !grouping.isEmpty { mistakes.append("group: has no part in it") }
    if isTest { mistakes.append("traffic: it is of live traffic alone") }
    return mistakes.isEmpty ? nil : ReportMistakes(mistakes: mistakes)
  }

  private static let minuteMilliseconds: Int64 = 60_000
  private static let hourMilliseconds: Int64 = 3_600_000
  /// What is rolled up by no dimension.
  private static let everything = "all"
  /// No name or id is as long.
  private static let valueBytesMaximum = 200
  private static let dimensionNames = ReportDimension.allCases.map(\.rawValue).joined(separator: ", ")

  private static func moment(_ name: String, _ value: String, _ mistakes: inout [String]) -> Timestamp? {
    let moment = Timestamp(utcText: value) ?? Timestamp(utcText: value + "T00:00:00Z")
    if moment == nil {
      mistakes.append("\(name): give a day such as 2026-07-01 or a minute such as 2026-07-01T12:00:00Z")
    } else if moment.map({ $0.milliseconds % minuteMilliseconds != 0 }) == true {
      mistakes.append("\(name): give a whole minute: figures are kept by the minute")
    }
    return moment
  }
}

/// What is wrong with the words of a report.
package struct ReportMistakes: Error, Sendable, CustomStringConvertible {
  package let mistakes: [String]
  package var description: String { mistakes.joined(separator: "\n") }
}
