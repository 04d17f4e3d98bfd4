package import AdCore
package import JSON

/// Changes of the catalogue that nobody writes: records in the place of those there are, and members set to other values.
/// It is laid over the catalogue of whatever time.
package struct CatalogOverlay: Sendable {
  private var records: [String: CatalogRecord] = [:]
  private var members: [String: [(path: String, value: String)]] = [:]

  package init() {}

  package var isEmpty: Bool { records.isEmpty && members.isEmpty }
  /// Of the records that it holds itself, whatever there is.
  package var ownKeys: [String] { records.keys.sorted() }
  /// Of the records of which it sets members.
  package var editedKeys: [String] { members.keys.sorted() }

  /// Puts the records of a file over those of the same keys. Keys that would have to be made are none.
  package mutating func put(_ file: CatalogFile) {
    for entry in file.entries { records[entry.record.key] = entry.record }
  }

  /// Sets a member of a record, as in `catalog set`.
  package mutating func set(_ key: String, _ path: String, to value: String) {
    members[key, default: []].append((path, value))
  }

  /// The record by a key where a catalogue has `stored` there, nil for nothing; nil where nothing is there now either, or
  /// what this program cannot read.
  package func record(_ key: String, over stored: JSONValue?) throws(CatalogProblems) -> CatalogRecord? {
    guard let kind = CatalogKind(key: key) else { return nil }
    guard let edits = members[key] else {
      return records[key] ?? stored.flatMap { CatalogJSON.record(stored: $0, kind: kind) }
    }
    guard let body = records[key].map(CatalogJSON.value) ?? stored else { return nil }
    var problems: [CatalogProblem] = []
    let changed = CatalogEdit.apply(edits, to: body, kind: kind, key: key, problems: &problems)
    guard problems.isEmpty, case .record(let record) = CatalogJSON.read(changed, as: kind, at: key, problems: &problems)
    else { throw CatalogProblems(problems) }
    guard record.key == key else {
      throw CatalogProblems([CatalogProblem(key, "would become \(record.key): an id cannot be set")])
    }
    return record
  }
}
