internal import CSQLite

/// What SQLite says when it does not do what it was asked.
package struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible {
  /// SQLite's extended result code.
  package let code: Int32
  package let message: String

  package init(code: Int32, message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { "SQLite \(code): \(message)" }

  /// The extended code without what it adds.
  private var primaryCode: Int32 { code & 0xFF }

  /// Somebody else has the database.
  package var isBusy: Bool { primaryCode == SQLITE_BUSY }

  /// The file is no database, or a broken one.
  package var isOfUnreadableFile: Bool { primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB }
}

/// A value as SQLite keeps it.
package enum SQLiteValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case text(String)
  case blob([UInt8])

  package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
  package var text: String? { if case .text(let value) = self { value } else { nil } }
  package var blob: [UInt8]? { if case .blob(let value) = self { value } else { nil } }
}
