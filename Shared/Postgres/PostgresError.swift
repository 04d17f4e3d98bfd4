/// Everything that can go wrong between this process and PostgreSQL, classified by what a caller can do about it.
///
/// `description` never holds a bound value or a password: the server's DETAIL, which quotes values, is a field of its
/// own, and quoted parts of data errors (class 22) are withheld.
package struct PostgresError: Error, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  package enum Kind: Sendable, Hashable {
    /// The connection settings cannot be used; a retry cannot help.
    case invalidConfiguration
    /// No server answered, or it is not ready for connections yet.
    case cannotConnect
    /// The server refused the user or the password (class 28).
    case authenticationFailed
    /// The connection ended. With `commitUnknown` a COMMIT was under way: the transaction may be committed or not, and
    /// only reading back can tell.
    case connectionLost(commitUnknown: Bool)
    /// The server refused a statement; the connection is usable.
    case server
    /// COMMIT was answered with ROLLBACK, because a statement of the transaction had failed.
    case rolledBack
    /// A value could not be read as the wanted Swift type.
    case undecodable
    /// The call is not allowed now, or beyond a named limit; the program is wrong.
    case misuse
    /// The pool's queue is full, or the pool is closed.
    case poolUnavailable
  }

  package var kind: Kind
  /// The five characters of SQLSTATE, when the server gave an answer.
  package var sqlState: String?
  /// The server's severity, not translated: `ERROR`, `FATAL` or `PANIC`.
  package var severity: String?
  /// The primary message; for data errors it can quote a value.
  package var message: String
  /// The server's DETAIL. It can quote values: never log it where users' data must not be.
  package var detail: String?
  package var hint: String?
  package var constraint: String?
  package var schema: String?
  package var table: String?
  package var column: String?
  /// The index of the failed statement in its batch, from 0.
  package var statementIndex: Int?
  /// The name of the failed statement's type.
  package var statement: String?

  package init(_ kind: Kind, _ message: String, sqlState: String? = nil, hint: String? = nil) {
    self.kind = kind
    self.message = message
    self.sqlState = sqlState
    self.hint = hint
  }

  /// A value that cannot be read; `reason` must not quote it.
  package static func undecodable(column: Int, _ reason: String) -> PostgresError {
    PostgresError(.undecodable, "column \(column): \(reason)")
  }

  /// The connection ended, whether a COMMIT was under way or not.
  package var isConnectionLost: Bool {
    if case .connectionLost = kind { true } else { false }
  }

  /// A unique or primary key constraint refused a row (23505).
  package var isUniqueViolation: Bool { sqlState == "23505" }

  /// The database refused the data itself (class 22, data exception; class 23, integrity constraint).
  package var isDataRefused: Bool {
    kind == .server && (sqlState?.hasPrefix("22") == true || sqlState?.hasPrefix("23") == true)
  }

  /// True when the same work may be done again (on a new connection, if this one is lost) and can then succeed. Not
  /// true while it is unknown whether a COMMIT happened: read back first.
  package var isRetriable: Bool {
    switch kind {
    case .cannotConnect, .poolUnavailable: true
    case .connectionLost(let commitUnknown): !commitUnknown
    case .server: sqlState.map(Self.isRetriableState) ?? false
    case .invalidConfiguration, .authenticationFailed, .rolledBack, .undecodable, .misuse: false
    }
  }

  /// Nobody answers, or the server shuts down, starts, has no room for a connection or cannot use its disk: it is away,
  /// and nothing is wrong with what was asked of it.
  package var isUnavailable: Bool {
    switch kind {
    case .cannotConnect, .poolUnavailable, .connectionLost: true
    case .server: sqlState.map { state in ["08", "53", "57P0", "58"].contains { state.hasPrefix($0) } } ?? false
    case .invalidConfiguration, .authenticationFailed, .rolledBack, .undecodable, .misuse: false
    }
  }

  /// The server is there and cannot be used as it or the settings are: the login is refused (class 28), there is no such
  /// database (3D), it takes no writes (25006). No retry mends it before a person has.
  package var isMisconfigured: Bool {
    switch kind {
    case .invalidConfiguration, .authenticationFailed: true
    case .server: sqlState.map { $0.hasPrefix("28") || $0.hasPrefix("3D") || $0 == "25006" } ?? false
    case .cannotConnect, .connectionLost, .rolledBack, .undecodable, .misuse, .poolUnavailable: false
    }
  }

  /// A statement took longer than the session allows, or somebody ended it (57014).
  package var isStatementEnded: Bool { sqlState == "57014" }

  /// The login may not do what was asked (42501).
  package var isMissingRight: Bool { sqlState == "42501" }

  /// What mends a missing right.
  static let rightsHint =
    "Check that the login is a member of its program's role, such as handbill_billing, and run 'handbill migrate up' as the "
    + "owner: docs/operations.md, Who may do what"

  /// Serialization failure, deadlock, lock or statement timeout, too few resources, shutdown or start of the server.
  private static func isRetriableState(_ state: String) -> Bool {
    ["40001", "40P01", "55P03", "57014"].contains(state) || state.hasPrefix("57P0") || state.hasPrefix("53")
  }

  package var description: String {
    var text = "PostgreSQL"
    if let sqlState { text += " \(sqlState)" }
    if let statement { text += " in \(statement)" }
    if let statementIndex { text += " (statement \(statementIndex) of the statement batch)" }
    text += ": " + (sqlState?.hasPrefix("22") == true ? Self.withholdingQuotes(message) : message)
    if let table { text += ", table \(schema.map { $0 + "." } ?? "")\(table)" }
    if let column { text += ", column \(column)" }
    if let constraint { text += ", constraint \(constraint)" }
    if kind == .connectionLost(commitUnknown: true) { text += "; it is unknown whether the transaction is committed" }
    if let hint { text += ". \(hint)" }
    return text
  }

  /// `text` with everything between double quotes replaced: messages of data errors quote the value there.
  private static func withholdingQuotes(_ text: String) -> String {
    let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
    return parts.enumerated().map { index, part in index % 2 == 1 ? "(withheld)" : String(part) }.joined()
  }
}
