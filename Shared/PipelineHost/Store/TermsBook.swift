package import AdCore
internal import Postgres
internal import Runtime

/// The terms that a worker knows to be stored, so that its rows may name them. Those it does not know it stores first, in a
/// transaction of their own: whoever else stores the same waits no longer than that takes, and a batch that is lost leaves
/// nothing but terms that nobody names.
///
/// Terms are noted with the latest day of the serves that name them, and go when all days are dropped that have such serves:
/// so they are stored anew for each day.
package final class TermsBook {
  /// The most terms that are remembered; then it begins anew. Each takes some 300 bytes.
  package static let termsMaximum = 8_192
  private static let dayMilliseconds: Int64 = 86_400_000

  struct Entry {
    let name: Int64
    /// Since 1970-01-01, in UTC.
    var day: Int32
  }

  private var known: [FrozenTerms: Entry] = [:]
  /// What the batch at work names besides.
  private var unknown: [FrozenTerms: Entry] = [:]
  private let schema: String
  private let maximum: Int

  package init(schema: String, maximum: Int = termsMaximum) {
    self.schema = schema
    self.maximum = maximum
  }

  /// How many terms are remembered.
  var count: Int { known.count }

  /// Begins a batch.
  func begin() { unknown = [:] }

  /// The name of a serve's terms, for a row of the batch at work.
  package func name(of serve: ServedTerms) -> Int64 {
    let terms = FrozenTerms(serve)
    let day = Int32(truncatingIfNeeded: serve.serveID.timestamp.milliseconds / Self.dayMilliseconds)
    if let entry = known[terms], entry.day >= day { return entry.name }
    let entry = unknown[terms] ?? Entry(name: terms.name, day: day)
    unknown[terms] = Entry(name: entry.name, day: max(entry.day, day))
    return entry.name
  }

  /// Stores what the batch names and is not known to be stored; to be called before its rows are.
  func store(in connection: PostgresConnection) throws(PostgresError) {
    guard !unknown.isEmpty else { return }
    _ = try connection.run(NoteTerms(schema: schema, terms: unknown.map { ($0, $1) }))
    if known.count + unknown.count > maximum { known = [:] }
    known.merge(unknown.prefix(maximum).map { ($0.key, $0.value) }) { $1 }
    unknown = [:]
  }
}

/// Terms that rows to come name.
private struct NoteTerms: PostgresStatement {
  static let sql = "SELECT public.note_terms($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
  let schema: String
  let terms: [(terms: FrozenTerms, entry: TermsBook.Entry)]

  var parameters: [any PostgresValue] {
    [
      schema, terms.map(\.entry.name), terms.map { PostgresDate(days: $0.entry.day) }, terms.map(\.terms.app),
      terms.map(\.terms.developer), terms.map(\.terms.advertiser), terms.map(\.terms.campaign), terms.map(\.terms.ad),
      terms.map(\.terms.impressionPrice), terms.map(\.terms.clickPrice), terms.map(\.terms.currency),
      terms.map(\.terms.shareBasisPoints), terms.map(\.terms.lifeMilliseconds), terms.map(\.terms.isTest),
    ]
  }
}
