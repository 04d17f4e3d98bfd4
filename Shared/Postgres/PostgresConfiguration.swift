internal import CLibpq

/// Where the database is and how a session there behaves.
package struct PostgresConfiguration: Sendable, CustomStringConvertible {
  /// libpq's own keywords (`host`, `port`, `dbname`, `user`, `password`, `sslmode`, …) as the address gave them.
  var keywords: [String: String]
  /// How long connecting may take in all, without name resolution (which libpq does not bound).
  package var connectTimeoutMilliseconds = 5_000
  /// The server ends a statement after this time; 0 is no limit.
  package var statementTimeoutMilliseconds = 30_000
  /// How long the server may stay silent, beyond the statement timeout, before the connection counts as lost.
  package var silenceGraceMilliseconds = 5_000
  /// Shown in `pg_stat_activity`.
  package var applicationName: String
  /// The server ends a session that idles in a transaction for this long, so that its locks are freed.
  package var idleInTransactionTimeoutMilliseconds = 5_000
  /// More settings for each session, by name; they win over the ones above.
  package var sessionSettings: [String: String] = [:]

  /// Reads a `postgresql://` URL or a `key=value` connection string. What it does not say comes from libpq's defaults
  /// and environment (`PGHOST`, `PGPASSWORD`, …). Throws `.invalidConfiguration`, without quoting the address.
  package init(_ address: String, applicationName: String = "handbill") throws(PostgresError) {
    guard !address.utf8.contains(0), let options = unsafe PQconninfoParse(address, nil) else {
      throw PostgresError(
        .invalidConfiguration, "the database address cannot be read",
        hint: "Give a URL like postgresql://user:password@host:5432/database (percent-encoded) "
          + "or pairs like host=/run/postgresql dbname=handbill")
    }
    defer { unsafe PQconninfoFree(options) }
    var keywords: [String: String] = [:]
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      if let value = unsafe option.pointee.val {
        unsafe keywords[String(cString: keyword)] = unsafe String(cString: value)
      }
      unsafe option += 1
    }
    self.keywords = keywords
    self.applicationName = applicationName
  }

  /// Host, port, database and user; never the password.
  package var description: String {
    ["host", "hostaddr", "port", "dbname", "user"].compactMap { name in keywords[name].map { "\(name)=\($0)" } }
      .joined(separator: " ")
  }

  /// What libpq is given: the address, then what every session of ours has.
  var connectionKeywords: [(name: String, value: String)] {
    var all = keywords
    all["client_encoding"] = "UTF8"
    all["application_name"] = applicationName
    // A peer that vanished without a word is noticed even while nothing is awaited from it.
    if all["keepalives_idle"] == nil { all["keepalives_idle"] = "10" }
    if all["keepalives_interval"] == nil { all["keepalives_interval"] = "5" }
    if all["keepalives_count"] == nil { all["keepalives_count"] = "3" }
    return all.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
  }

  /// What is set once connected.
  var allSessionSettings: [String: String] {
    let ours = [
      // Statements here are short, and plans that read many tables have hundreds of functions: compiling takes longer than they do.
      "jit": "off",
      "idle_in_transaction_session_timeout": "\(idleInTransactionTimeoutMilliseconds)ms",
      "statement_timeout": "\(statementTimeoutMilliseconds)ms",
      "synchronous_commit": "on",
      "TimeZone": "UTC",
    ]
    return ours.merging(sessionSettings) { _, given in given }
  }

  /// How long the server may be silent; nil while a statement has no limit.
  var silenceLimitMilliseconds: Int? {
    guard statementTimeoutMilliseconds > 0 else { return nil }
    return statementTimeoutMilliseconds + silenceGraceMilliseconds
  }
}
