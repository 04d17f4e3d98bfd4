package import AdCore
package import JSON
package import Postgres
internal import Runtime

/// Everything known of one request or served ad, from the decision to the ledger, in one snapshot (B5).
package struct ServeExplanation: Sendable {
  /// One step of the way.
  struct Section: Sendable {
    var name: String
    /// What its rows are, in the plural.
    var noun: String
    var isSingle: Bool
    /// In the order of events.
    var rows: CutList<Row>
  }

  struct Row: Sendable {
    /// As it is stored: columns by their names, numbers for what they mean.
    var stored: JSONValue
    /// For programs.
    var fields: JSONValue

    init(_ text: PostgresJSON, _ section: ServeSections.Section) throws(PostgresError) {
      do throws(JSONError) { stored = try JSONValue.parse(text.text.utf8).inOrderOfNames } catch {
        throw .undecodable(column: 0, error.description)
      }
      fields = ServeFields.of(stored, section)
    }
  }

  /// The decision's id; the serve id where an ad was served. Nil where no decision is known.
  package var serveID: ServeID?
  var sections: [Section]
  /// Further decisions of the same request id, the latest first.
  package var otherServeIDs: [ServeID] = []
  /// Errors that the device told of the request; nil where a served ad is asked for.
  var toldErrors: Section?
  /// What was asked for.
  let subject: ExplainSubject
  /// Whether the token that was asked for opens; nil where an id was.
  let authenticity: TokenAuthenticity?
  /// The days in which a request id's decisions and rejected records were looked for.
  let searched: ServeRange
  /// Rejected records that name what was asked for, or the served ad.
  var rejected: [RejectedTrace] = []
  /// The apps that the decision and the told errors name and that the catalogue does not have.
  var unregisteredApps: [String] = []

  /// Whether anything is known.
  package var isKnown: Bool { lists.contains { !$0.rows.items.isEmpty } }

  /// All sections.
  private var lists: [Section] { sections + (toldErrors.map { [$0] } ?? []) }

  /// Those of which rows are left out.
  var cutLists: [Section] { lists.filter { $0.rows.isCut } }

  /// Whether an ad was served: by its decision, or else by what devices told of it.
  var isServed: Bool {
    guard let decision = rows("decision").first else { return !rows("impression").isEmpty || !rows("clicks").isEmpty }
    let reason = UInt8(exactly: decision.stored["reason"]?.integerValue ?? 0)
    return reason.flatMap(DecisionReason.init(rawValue:))?.isFill ?? false
  }

  func rows(_ name: String) -> [Row] { lists.first { $0.name == name }?.rows.items ?? [] }

  package var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("isKnown", .flag(isKnown)), .init("isServed", .flag(isServed)),
      .init("serveId", .optional(serveID?.description)), .init("decidedAt", .optional(serveID?.timestamp.utcText)),
      .init("requestId", (rows("decision") + rows("toldErrors")).first?.fields["requestId"] ?? .null),
      .init("otherServeIds", .texts(otherServeIDs.map(\.description))),
    ]
    for section in sections {
      let rows = section.rows.items.map(\.fields)
      members.append(.init(section.name, section.isSingle ? rows.first ?? .null : .list(rows)))
    }
    members += [
      .init("toldErrors", .list(rows("toldErrors").map(\.fields))),
      .init("tokenAuthenticity", .optional(authenticity?.rawValue)),
      .init("searchedFrom", .text(Timestamp(milliseconds: searched.from).utcText)),
      .init("searchedUntil", .text(Timestamp(milliseconds: searched.to).utcText)),
      .init("rejectedRecords", .list(rejected.map(\.json))), .init("unregisteredApps", .texts(unregisteredApps)),
      .init("isCut", .flag(!cutLists.isEmpty)),
      // How many there are of each list without the limit.
      .init(
        "rowsTotal",
        .object(lists.filter { !$0.isSingle }.map { .init($0.name, .integer($0.rows.total)) })),
    ]
    return .object(members)
  }
}

/// Reads explanations. Blocks the caller.
package struct Explain: Sendable {
  private static let dayMilliseconds: Int64 = 86_400_000
  /// Days before and behind the one that a request id names.
  private static let daysAround: Int64 = 2
  /// How a request id is found, for people.
  package static let searchHelp =
    "A request id is looked for among the decisions of two days before to two days after the time that it carries, which "
    + "is the client's clock's; name the day where that clock was wrong."

  private let pool: PostgresPool

  package init(_ pool: PostgresPool) { self.pool = pool }

  /// Everything known of what is asked for.
  ///
  /// - Parameters:
  ///   - day: a moment of the day, by the network's clocks, around which the decisions of a request id are looked for;
  ///     nil for the time that the id carries.
  ///   - authenticity: what is known of the token's authenticity, where a token is asked for.
  package func explain(
    _ subject: ExplainSubject, around day: Timestamp? = nil, authenticity: TokenAuthenticity = .notChecked
  ) throws(PostgresError) -> ServeExplanation {
    let range = Explain.range(around: day ?? subject.id.timestamp)
    return try pool.snapshot { connection throws(PostgresError) in
      let sections = try sections(subject.id, in: connection)
      var explanation: ServeExplanation
      switch subject {
      case .token(let id, _):
        explanation = ServeExplanation(
          serveID: id, sections: sections, subject: subject, authenticity: authenticity, searched: range)
      case .id(let id):
        explanation = ServeExplanation(
          serveID: id, sections: sections, subject: subject, authenticity: nil, searched: range)
        if !explanation.isKnown {
          explanation.serveID = nil
          try findRequest(id, &explanation, in: connection)
        }
      }
      try findTraces(&explanation, in: connection)
      return explanation
    }
  }

  /// What is searched for a request id.
  static func range(around moment: Timestamp) -> ServeRange {
    let day = max(0, moment.milliseconds) / dayMilliseconds
    let (first, next) = (max(0, day - daysAround), day + daysAround + 1)
    let end = ServeRange.everything.to
    return ServeRange(from: min(first * dayMilliseconds, end), to: min(next * dayMilliseconds, end))
  }

  private func findRequest(
    _ id: UUIDv7, _ explanation: inout ServeExplanation, in connection: PostgresConnection
  ) throws(PostgresError) {
    let found = try connection.run(FindRequest(requestID: id, range: explanation.searched))
    if let latest = found.first {
      explanation.serveID = latest
      explanation.sections = try sections(latest, in: connection)
      explanation.otherServeIDs = Array(found.dropFirst())
    }
    explanation.toldErrors = try read(ServeSections.toldErrors, [[id]], in: connection)
  }

  /// What lies outside the sections: records that were rejected, and apps that nobody registered.
  private func findTraces(
    _ explanation: inout ServeExplanation, in connection: PostgresConnection
  ) throws(PostgresError) {
    var ids = [explanation.subject.id]
    if let serveID = explanation.serveID, serveID != ids[0] { ids.append(serveID) }
    for id in ids {
      explanation.rejected += try connection.run(FindRejectedTraces(id: id, range: explanation.searched))
    }
    let rows = explanation.rows("decision") + explanation.rows("toldErrors")
    let named = rows.compactMap { $0.stored["app"]?.textValue }
    for app in Set(named).sorted() where try connection.run(IsRegistered(key: "app/\(app)")).first != true {
      explanation.unregisteredApps.append(app)
    }
  }

  private func sections(
    _ id: ServeID, in connection: PostgresConnection
  ) throws(PostgresError) -> [ServeExplanation.Section] {
    let partitions = try connection.run(FindServePartitions(serveID: id))
    return try ServeSections.all.map { section throws(PostgresError) in
      try read(section, partitions.map { [id, $0] }, in: connection)
    }
  }

  /// The first rows of a section, whose statement is asked with each of these parameters, and how many there are.
  private func read(
    _ section: ServeSections.Section, _ parameters: [[any PostgresValue]], in connection: PostgresConnection
  ) throws(PostgresError) -> ServeExplanation.Section {
    var rows: [ServeExplanation.Row] = []
    for each in parameters where rows.count < ServeSections.rowsMaximum {
      for row in try connection.query(section.sql, each) {
        rows.append(try ServeExplanation.Row(try row.decode(0), section))
      }
    }
    var total = Int64(rows.count)
    if rows.count >= ServeSections.rowsMaximum, !section.isSingle {
      rows.removeLast(rows.count - ServeSections.rowsMaximum)
      total = 0
      for each in parameters {
        for row in try connection.query(section.countSQL, each) { total += try row.decode(0, Int64.self) }
      }
    }
    return ServeExplanation.Section(
      name: section.name, noun: section.noun, isSingle: section.isSingle, rows: CutList(rows, total: total))
  }
}
