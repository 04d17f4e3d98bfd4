internal import Crypto

/// Functions and views, apart from the tables that they stand upon: `Logic/NN_subject.sql`, in the order of their names.
/// Every run of the migrations makes them again, so these files are edited in place; each may run any number of times.
///
/// What cannot be replaced in place is dropped by a numbered step beside the change: a function whose parameters become
/// others, a view that loses a column.
package struct Logic: Sendable {
  /// One file.
  package struct File: Sendable, Hashable {
    package let name: String
    package let sql: String

    package init(name: String, sql: String) {
      self.name = name
      self.sql = sql
    }
  }

  package let files: [File]

  package init(_ files: [File]) { self.files = files.sorted { $0.name < $1.name } }

  /// What this program carries.
  package static let own = Logic([VocabularyLogic.file] + embeddedLogic.map { File(name: $0.file, sql: $0.sql) })

  /// SHA-256 of all texts.
  package var checksum: [UInt8] { SHA256.hash(files.map(\.sql).joined(separator: "\n").utf8) }
}
