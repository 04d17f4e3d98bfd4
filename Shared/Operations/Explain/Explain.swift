package import AdCore
package import JSON
package import Postgres
internal import Runtime

/// Everything known of one request or served ad, from the decision to the ledger, in one snapshot (B5).
package struct ServeExplanation: Sendable {
  /// One step of the way.
  struct Section: Sendable {
    var name: String
    var isSingle: Bool
    /// In the order of events.
    var rows: [Row]
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
  /// Errors that the device told of the request.
  var toldErrors: [Row] = []

  /// Whether anything is known.
  package var isKnown: Bool { !toldErrors.isEmpty || sections.contains { !$0.rows.isEmpty } }

  /// Whether an ad was served: by its decision, or else by what devices told of it.
  var isServed: Bool {
    guard let decision = rows("decision").first else { return !rows("impression").isEmpty || !rows("clicks").isEmpty }
    let reason = UInt8(exactly: decision.stored["reason"]?.integerValue ?? 0)
    return reason.flatMap(DecisionReason.init(rawValue:))?.isFill ?? false
  }

  func rows(_ name: String) -> [Row] { sections.first { $0.name == name }?.rows ?? [] }

  package var json: JSONValue {
    .object(
      [
        .init("isServed", .flag(isServed)), .init("serveId", .optional(serveID?.description)),
        .init("decidedAt", .optional(serveID?.timestamp.utcText)),
        .init("requestId", (rows("decision") + toldErrors).first?.fields["requestId"] ?? .null),
        .init("otherServeIds", .texts(otherServeIDs.map(\.description))),
      ]
        + sections.map { section in
          .init(
            section.name, section.isSingle ? section.rows.first?.fields ?? .null : .list(section.rows.map(\.fields)))
        } + [.init("toldErrors", .list(toldErrors.map(\.fields)))])
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
  /// - Parameter day: a moment of the day, by the network's clocks, around which the decisions of a request id are looked
  ///   for; nil for the time that the id carries.
  package func explain(
    _ subject: ExplainSubject, around day: Timestamp? = nil
  ) throws(PostgresError) -> ServeExplanation {
    try pool.snapshot { connection throws(PostgresError) in
      switch subject {
      case .token(let id): return try serve(id, in: connection)
      case .id(let id):
        let explanation = try serve(id, in: connection)
        guard !explanation.isKnown else { return explanation }
        return try request(id, around: day ?? id.timestamp, in: connection)
      }
    }
  }

  /// What was looked for where nothing is known, in a sentence.
  package static func unknown(_ subject: ExplainSubject, around day: Timestamp? = nil) -> String {
    switch subject {
    case .token(let id): return "nothing is known of serve \(id), which the token names"
    case .id(let id):
      let range = range(around: day ?? id.timestamp)
      let (from, until) = (Timestamp(milliseconds: range.from).utcText, Timestamp(milliseconds: range.to).utcText)
      return "nothing is known of \(id): it is no serve id, and no request id decided from \(from) to \(until); what "
        + "could not be understood is among the rejected records"
    }
  }

  /// What is searched for a request id.
  static func range(around moment: Timestamp) -> ServeRange {
    let day = max(0, moment.milliseconds) / dayMilliseconds
    let (first, next) = (max(0, day - daysAround), day + daysAround + 1)
    let end = ServeRange.everything.to
    return ServeRange(from: min(first * dayMilliseconds, end), to: min(next * dayMilliseconds, end))
  }

  private func request(
    _ id: UUIDv7, around moment: Timestamp, in connection: PostgresConnection
  ) throws(PostgresError) -> ServeExplanation {
    let found = try connection.run(FindRequest(requestID: id, range: Explain.range(around: moment)))
    var explanation = ServeExplanation(serveID: nil, sections: [])
    if let latest = found.first {
      explanation = try serve(latest, in: connection)
      explanation.otherServeIDs = Array(found.dropFirst())
    }
    let told = ServeSections.toldErrors
    explanation.toldErrors = try connection.run(ReadToldErrors(requestID: id)).map { text throws(PostgresError) in
      try ServeExplanation.Row(text, told)
    }
    return explanation
  }

  private func serve(_ id: ServeID, in connection: PostgresConnection) throws(PostgresError) -> ServeExplanation {
    var sections: [ServeExplanation.Section] = []
    for section in ServeSections.all {
      var rows: [ServeExplanation.Row] = []
      for row in try connection.query(section.sql, [id]) {
        rows.append(try ServeExplanation.Row(try row.decode(0), section))
      }
      sections.append(ServeExplanation.Section(name: section.name, isSingle: section.isSingle, rows: rows))
    }
    return ServeExplanation(serveID: id, sections: sections)
  }
}
