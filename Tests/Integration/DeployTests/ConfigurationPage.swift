import Foundation
import Runtime

@testable import AdSelection
@testable import Billing
@testable import ClickTracking
@testable import Console
@testable import Edge
@testable import Handbill
@testable import ImpressionTracking

/// `docs/configuration.md`: what is written by hand, and behind the mark the tables of the programs' keys, made of their
/// declarations.
enum ConfigurationPage {
  static let path = "docs/configuration.md"
  /// Behind this line everything is made anew.
  private static let mark = "<!-- Made of the declarations: UPDATE_DOCUMENTS=1 writes it. -->\n"

  /// The keys of each program, by its name, in the order of the page.
  static let programs: [(name: String, keys: [ConfigurationDeclaration])] =
    [service(AdSelectionMain.self), service(ImpressionTrackingMain.self), service(ClickTrackingMain.self)]
    + [
      service(BillingMain.self), service(EdgeMain.self), service(ConsoleMain.self),
      ("handbill", KafkaAddress.keys + DatabaseAddress.maintenanceKeys + TokenKeys.keys),
    ]

  private static func service<S: Service>(_: S.Type) -> (name: String, keys: [ConfigurationDeclaration]) {
    (S.name, S.configurationKeys + CommonKeys.ofEveryService)
  }

  /// Of each service what it reads and does not declare.
  static var undeclared: [(name: String, keys: Set<String>)] {
    [undeclared(AdSelectionMain.self), undeclared(ImpressionTrackingMain.self), undeclared(ClickTrackingMain.self)]
      + [undeclared(BillingMain.self), undeclared(EdgeMain.self), undeclared(ConsoleMain.self)]
  }

  private static func undeclared<S: Service>(_: S.Type) -> (name: String, keys: Set<String>) {
    let own = Set(S.configurationKeys.map(\.name))
    let others = programs.flatMap(\.keys).map(\.name).filter { !own.contains($0) }
    // What no key takes.
    var reader = ConfigurationReader(environment: Dictionary(others.map { ($0, "\u{7}") }) { first, _ in first })
    _ = S.configuration(&reader)
    return (S.name, Set(reader.problems.map(\.key)).subtracting(own))
  }

  /// Programs that read the same keys, and these keys.
  private struct Section {
    let readers: [String]
    var names: [String] = []
  }

  /// The page with its tables made of the declarations.
  static func text(_ text: String) -> String {
    guard let marked = text.range(of: mark) else { return text }
    var sections: [Section] = []
    for name in programs.flatMap({ $0.keys.map(\.name) }) where !sections.contains(where: { $0.names.contains(name) }) {
      let readers = programs.filter { $0.keys.contains { $0.name == name } }.map(\.name)
      if let known = sections.firstIndex(where: { $0.readers == readers }) {
        sections[known].names.append(name)
      } else {
        sections.append(Section(readers: readers, names: [name]))
      }
    }
    return text[..<marked.upperBound] + sections.map(table).joined()
  }

  private static func table(_ section: Section) -> String {
    let isAll = section.readers.count == programs.count
    let isServices = section.readers == programs.dropLast().map(\.name)
    let title = isAll ? "All programs" : isServices ? "All services" : section.readers.joined(separator: ", ")
    let rows = section.names.map { name -> String in
      let keys = section.readers.compactMap { reader in
        programs.first { $0.name == reader }?.keys.first { $0.name == name }.map { (reader: reader, key: $0) }
      }
      guard let key = keys.first?.key else { return "" }
      return "| `\(name)` | \(escaped(key.kind)) | \(defaults(keys)) | \(escaped(key.help))\(notes(key)) |\n"
    }
    return "\n## \(title)\n\n| key | value | default | meaning |\n|---|---|---|---|\n" + rows.joined()
  }

  /// What stands where nothing is set; with the programs behind it where they differ.
  private static func defaults(_ keys: [(reader: String, key: ConfigurationDeclaration)]) -> String {
    let values = keys.map { value($0.key) }
    let different = values.indices.filter { !values[..<$0].contains(values[$0]) }.map { values[$0] }
    guard different.count > 1 else { return different.joined() }
    return different.map { value in
      "\(value) (\(keys.filter { self.value($0.key) == value }.map(\.reader).joined(separator: ", ")))"
    }.joined(separator: "; ")
  }

  private static func value(_ key: ConfigurationDeclaration) -> String {
    if key.isRequired { return "required" }
    return key.defaultText.map { $0.isEmpty ? "empty" : escaped($0) } ?? "none"
  }

  private static func notes(_ key: ConfigurationDeclaration) -> String {
    let others = key.otherNames.map { "`\($0)`" }.joined(separator: ", ")
    return (key.isSecret ? " **Secret.**" : "") + (others.isEmpty ? "" : " Also read from \(others).")
  }

  private static func escaped(_ text: String) -> String { text.replacing("|", with: "\\|") }
}
