package import AdCore
internal import Postgres
internal import Runtime

/// The terms that a worker knows to be stored, so that its rows may name them. Those it does not know it stores first, in a
/// transaction of their own: whoever else stores the same waits no longer than that takes, and a batch that is lost leaves
/// nothing but terms that nobody names.
///
/// Ad selection's creatives are stored likewise. Both are noted with the latest day of the serves that name them, and go
/// when all days are dropped that have such serves: so they are noted anew for each day.
package final class TermsBook {
  /// The most terms that are remembered; then it begins anew. Each takes some 300 bytes.
  package static let termsMaximum = 8_192
  /// The most creatives that are remembered. Each takes some hundred bytes, and those of its URLs.
  package static let creativesMaximum = 1_024
  private static let dayMilliseconds: Int64 = 86_400_000

  private let schema: String
  private var terms: KnownContents<FrozenTerms>
  private var creatives = KnownContents<FrozenCreative>(maximum: creativesMaximum)

  package init(schema: String, maximum: Int = termsMaximum) {
    self.schema = schema
    terms = KnownContents(maximum: maximum)
  }

  /// How many terms are remembered.
  var count: Int { terms.count }

  /// Nothing is known to be stored: the connection is another one.
  func forget() {
    terms.forget()
    creatives.forget()
  }

  /// Begins the rows of a transaction.
  func begin() {
    terms.begin()
    creatives.begin()
  }

  /// The name of a serve's terms, for a row of the transaction at work.
  package func name(of serve: ServedTerms) -> Int64 {
    terms.name(of: FrozenTerms(serve), day: Self.day(of: serve.serveID))
  }

  /// The name of what a serve shows, for a row of the transaction at work.
  package func name(of creative: FrozenCreative, servedAs id: ServeID) -> Int64 {
    creatives.name(of: creative, day: Self.day(of: id))
  }

  private static func day(of id: ServeID) -> Int32 {
    Int32(truncatingIfNeeded: id.timestamp.milliseconds / dayMilliseconds)
  }

  /// Stores what the transaction names and is not known to be stored; to be called before its rows are.
  func store(in connection: PostgresConnection) throws(PostgresError) {
    guard !terms.unknown.isEmpty || !creatives.unknown.isEmpty else { return }
    var statements = StatementBatch()
    if !terms.unknown.isEmpty {
      statements.send(NoteTerms(schema: schema, terms: terms.unknown.map { ($0, $1) }))
    }
    // In one order, so that nobody waits for whoever waits for him.
    for (creative, entry) in creatives.unknown.sorted(by: { $0.value.name < $1.value.name }) {
      statements.send(NoteCreative(creative: creative, entry: entry))
    }
    _ = try connection.run(statements)
    terms.stored()
    creatives.stored()
  }
}

/// Terms that rows to come name.
private struct NoteTerms: PostgresStatement {
  static let sql = "SELECT public.note_terms($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
  let schema: String
  let terms: [(terms: FrozenTerms, entry: KnownContents<FrozenTerms>.Entry)]

  var parameters: [any PostgresValue] {
    [
      schema, terms.map(\.entry.name), terms.map { PostgresDate(days: $0.entry.day) }, terms.map(\.terms.app),
      terms.map(\.terms.developer), terms.map(\.terms.advertiser), terms.map(\.terms.campaign), terms.map(\.terms.ad),
      terms.map(\.terms.impressionPrice), terms.map(\.terms.clickPrice), terms.map(\.terms.currency),
      terms.map(\.terms.shareBasisPoints), terms.map(\.terms.lifeMilliseconds), terms.map(\.terms.isTest),
    ]
  }
}

/// What rows of decisions to come name.
private struct NoteCreative: PostgresStatement {
  static let sql = "SELECT ad_selection.note_creative($1, $2, $3, $4, $5, $6, $7)"
  let creative: FrozenCreative
  let entry: KnownContents<FrozenCreative>.Entry

  var parameters: [any PostgresValue] {
    [
      entry.name, PostgresDate(days: entry.day), creative.lifetimeMilliseconds, creative.action.kind,
      creative.action.destination, creative.sizes, creative.urls,
    ]
  }
}
