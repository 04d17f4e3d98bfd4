package import AdCore
internal import JSON

/// A catalogue file: records to be written, and keys of apps to be made. What the file does not name stays as it is.
package struct CatalogFile: Hashable, Sendable {
  /// A record, and where in the file it stands.
  package struct Entry: Hashable, Sendable {
    package var path: String
    package var record: CatalogRecord
  }

  /// A key that is to be made for an app's build, unless it has one.
  struct NewKey: Hashable, Sendable {
    var path: String
    var app: AppID
    var build: BuildKind
  }

  package var entries: [Entry] = []
  var newKeys: [NewKey] = []
  /// What is wrong with records by themselves, section by section; a file that has any is not written.
  package private(set) var problems: [CatalogProblem] = []
  /// Keys of records that cannot be read: others may refer to them.
  private(set) var illegible: Set<String> = []
  /// Where in the file records stand: its sections by name, each in its order.
  private var ranks: [String: Int] = [:]

  /// The largest file, in bytes.
  package static let bytesMaximum = 64 * 1_024 * 1_024

  /// Records that a program has made.
  package init(_ records: [CatalogRecord] = []) {
    entries = records.map { Entry(path: $0.key, record: $0) }
  }

  /// The file but for records of these keys.
  func without(_ isLeftOut: (String) -> Bool) -> CatalogFile {
    var file = self
    file.entries.removeAll { isLeftOut($0.record.key) }
    return file
  }

  /// Reads a file: all its problems together, or the file.
  package static func read(_ bytes: [UInt8]) -> Result<CatalogFile, CatalogProblems> {
    draft(bytes).flatMap { $0.problems.isEmpty ? .success($0) : .failure(CatalogProblems($0.problems)) }
  }

  /// Reads a file as far as it can be read, with its problems: ``CatalogStore/apply(_:)`` tells them together with those
  /// that its records have beside the others.
  package static func draft(_ bytes: [UInt8]) -> Result<CatalogFile, CatalogProblems> {
    guard bytes.count <= bytesMaximum else {
      return .failure(
        CatalogProblems([CatalogProblem("file", "has \(bytes.count) bytes: give at most \(bytesMaximum)")]))
    }
    do throws(JSONError) {
      return draft(try JSONValue.parse(bytes))
    } catch {
      return .failure(CatalogProblems([CatalogProblem("file", error.description)]))
    }
  }

  private static func draft(_ value: JSONValue) -> Result<CatalogFile, CatalogProblems> {
    let sections = CatalogKind.inFiles.map(\.section).joined(separator: ", ")
    guard case .object(let members) = value else {
      return .failure(CatalogProblems([CatalogProblem("file", "must be an object with some of \(sections)")]))
    }
    var file = CatalogFile()
    for member in members where member.name != "$schema" {
      guard let kind = CatalogKind.inFiles.first(where: { $0.section == member.name }) else {
        file.note(String(member.name.prefix(80)), "is none of \(sections): rename or remove it")
        continue
      }
      if kind == .settings {
        file.take(member.value, kind, at: kind.section)
      } else if let list = member.value.elements {
        for (index, element) in list.enumerated() {
          file.take(element, kind, at: "\(kind.section)[\(index)]")
        }
      } else {
        file.note(kind.section, "must be a list of objects")
      }
    }
    file.checkRepetitions()
    file.problems = file.inOrder(file.problems)
    return .success(file)
  }

  /// Problems in the order of the records that they name.
  func inOrder(_ problems: [CatalogProblem]) -> [CatalogProblem] {
    let ranked = problems.enumerated().map { index, problem in
      let rank = ranks[problem.path] ?? ranks[String(problem.path.prefix { $0 != "." })] ?? ranks.count
      return (rank, index, problem)
    }
    return ranked.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
  }

  private mutating func note(_ path: String, _ advice: String) {
    ranks[path] = ranks[path] ?? ranks.count
    problems.append(CatalogProblem(path, advice))
  }

  private mutating func take(_ value: JSONValue, _ kind: CatalogKind, at path: String) {
    ranks[path] = ranks.count
    let (reading, found) = CatalogJSON.draft(value, as: kind, at: path)
    problems += found
    switch reading {
    case .record(let record): entries.append(Entry(path: path, record: record))
    case .newKey(let app, let build): newKeys.append(NewKey(path: path, app: app, build: build))
    case nil:
      if let id = value["id"]?.textValue { illegible.insert("\(kind.rawValue)/\(id)") }
    }
  }

  private mutating func checkRepetitions() {
    var paths: [String: String] = [:]
    for entry in entries {
      if let first = paths[entry.record.key] {
        problems.append(CatalogProblem(entry.path, "is \(entry.record.key), as \(first) is: leave one of them"))
      }
      paths[entry.record.key] = paths[entry.record.key] ?? entry.path
    }
  }
}

/// All that is wrong with a catalogue file or a change; nothing of it was written.
package struct CatalogProblems: Error, Hashable, Sendable, CustomStringConvertible {
  package let problems: [CatalogProblem]

  package init(_ problems: [CatalogProblem]) { self.problems = problems }

  package var description: String {
    let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
    return "catalogue: \(count), nothing was changed\n" + problems.map { "  \($0)" }.joined(separator: "\n")
  }
}
