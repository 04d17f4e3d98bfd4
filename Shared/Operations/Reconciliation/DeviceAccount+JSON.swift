internal import AdCore
package import JSON
internal import Runtime

extension DeviceAccount {
  private static let figures = [
    "requests", "impressions", "clicks", "accidentalClicks", "freeClicks", "stoppedActions", "rendered", "unloaded",
    "failed", "neverShown", "expiredUnseen", "shownBriefly", "conversions", "failuresWithoutAd", "rejectedRecords",
  ]
  /// `besides` holds whatever its writer wants to keep with it; nobody reads it.
  private static let names = ["version", "startedAt", "besides"] + figures

  /// The file's content.
  ///
  /// - Parameter besides: further figures, which nothing is compared with.
  package func json(besides: [JSONValue.Member] = []) -> JSONValue {
    func kinds(_ name: String, _ kinds: Kinds?) -> JSONValue.Member? {
      kinds.map { .init(name, ["live": .integer($0.live), "test": .integer($0.test)]) }
    }
    let figures = [
      requests.map { JSONValue.Member("requests", .integer($0)) }, kinds("impressions", impressions),
      kinds("clicks", clicks), kinds("accidentalClicks", accidentalClicks), kinds("freeClicks", lives.freeClicks),
      kinds("stoppedActions", lives.stoppedActions), kinds("rendered", lives.rendered),
      kinds("unloaded", lives.unloaded), kinds("failed", lives.failed),
      kinds("neverShown", lives.neverShown), kinds("expiredUnseen", lives.expiredUnseen),
      kinds("shownBriefly", lives.shownBriefly),
      lives.conversions.map { JSONValue.Member("conversions", .integer($0)) },
      lives.failuresWithoutAd.map { JSONValue.Member("failuresWithoutAd", .integer($0)) },
      rejectedRecords.map { JSONValue.Member("rejectedRecords", .integer($0)) },
    ]
    return .object(
      [.init("version", .integer(Self.version)), .init("startedAt", .text(startedAt.utcText))]
        + figures.compactMap { $0 } + (besides.isEmpty ? [] : [.init("besides", .object(besides))]))
  }

  /// Reads a file; all that is wrong with it is told together.
  package static func read(_ value: JSONValue) -> Result<DeviceAccount, TallyProblems> {
    guard case .object(let members) = value else {
      return .failure(TallyProblems(problems: [CatalogProblem("the tally", "must be a JSON object")]))
    }
    var reader = TallyReader(value: value)
    for member in members where !names.contains(member.name) {
      let nearest = NearestName.find(member.name, among: names).map { "; did you mean \($0)?" } ?? ""
      reader.problems.append(
        CatalogProblem(
          TextSafety.singleLine(member.name, bytesMaximum: 40),
          "is none of \(names.joined(separator: ", "))\(nearest)"))
    }
    if value["version"]?.integerValue != version {
      reader.problems.append(CatalogProblem("version", "must be \(version): the form that docs/tally.md tells"))
    }
    let startedAt = value["startedAt"]?.textValue.flatMap { Timestamp(utcText: $0) }
    if startedAt == nil {
      reader.problems.append(CatalogProblem("startedAt", "must be a moment in UTC such as 2026-07-01T12:00:00.000Z"))
    }
    if !figures.contains(where: { value[$0] != nil }) {
      reader.problems.append(CatalogProblem("the tally", "must have one of \(figures.joined(separator: ", "))"))
    }
    let account = DeviceAccount(
      startedAt: startedAt ?? Timestamp(milliseconds: 0), requests: reader.count("requests"),
      impressions: reader.kinds("impressions"), clicks: reader.kinds("clicks"),
      accidentalClicks: reader.kinds("accidentalClicks"),
      lives: Lives(
        freeClicks: reader.kinds("freeClicks"), stoppedActions: reader.kinds("stoppedActions"),
        rendered: reader.kinds("rendered"), unloaded: reader.kinds("unloaded"), failed: reader.kinds("failed"),
        neverShown: reader.kinds("neverShown"), expiredUnseen: reader.kinds("expiredUnseen"),
        shownBriefly: reader.kinds("shownBriefly"),
        conversions: reader.count("conversions"), failuresWithoutAd: reader.count("failuresWithoutAd")),
      rejectedRecords: reader.count("rejectedRecords"))
    return reader.problems.isEmpty ? .success(account) : .failure(TallyProblems(problems: reader.problems))
  }
}

/// All that is wrong with a tally.
package struct TallyProblems: Error, Sendable, CustomStringConvertible {
  package let problems: [CatalogProblem]
  package var description: String { problems.map(\.description).joined(separator: "; ") }
}

/// Takes figures out of a tally, and notes what is wrong with them.
private struct TallyReader {
  let value: JSONValue
  var problems: [CatalogProblem] = []
  /// Far more than can happen, and far from where sums overflow.
  private static let countMaximum: Int64 = 1_000_000_000_000_000

  init(value: JSONValue) { self.value = value }

  mutating func count(_ name: String) -> Int64? { value[name].flatMap { count($0, at: name) } }

  mutating func kinds(_ name: String) -> DeviceAccount.Kinds? {
    guard let kinds = value[name] else { return nil }
    guard case .object(let members) = kinds, Set(members.map(\.name)) == ["live", "test"], members.count == 2 else {
      problems.append(CatalogProblem(name, "must be an object with live and test"))
      return nil
    }
    guard let live = count(kinds["live"] ?? .null, at: "\(name).live"),
      let test = count(kinds["test"] ?? .null, at: "\(name).test")
    else { return nil }
    return DeviceAccount.Kinds(live: live, test: test)
  }

  private mutating func count(_ value: JSONValue, at path: String) -> Int64? {
    guard let number = value.integerValue, (0...Self.countMaximum).contains(number) else {
      problems.append(CatalogProblem(path, "must be a whole number, 0 to \(Self.countMaximum)"))
      return nil
    }
    return number
  }
}
