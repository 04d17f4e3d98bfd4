import Foundation
import LocalProcesses

/// What the tests read of the package's files.
enum PackageText {
  static func text(_ path: String) throws -> String {
    try String(contentsOfFile: PackageRoot.path(path), encoding: .utf8)
  }

  /// Paths below `folder` with this ending, relative to the package.
  static func paths(in folder: String, ending: String) -> [String] {
    let entries = FileManager.default.enumerator(atPath: PackageRoot.path(folder))?.allObjects as? [String] ?? []
    return entries.filter { $0.hasSuffix(ending) }.map { "\(folder)/\($0)" }.sorted()
  }

  /// All Swift sources of the services and what they share.
  static func sources() throws -> [String] {
    try ["Shared", "Services"].flatMap { paths(in: $0, ending: ".swift") }.map(text)
  }
}

/// Metrics as the sources declare them.
struct DeclaredMetric: Hashable {
  let name: String
  let kind: String

  static func all() throws -> Set<DeclaredMetric> {
    let declaration = /MetricDeclaration\.(counter|gauge|histogram)\(\s*"([a-z0-9_]+)"/
    var all: Set<DeclaredMetric> = []
    for source in try PackageText.sources() {
      for match in source.matches(of: declaration) {
        all.insert(DeclaredMetric(name: String(match.output.2), kind: String(match.output.1)))
      }
    }
    return all
  }

  /// The names that Prometheus stores for it.
  var storedNames: [String] { kind == "histogram" ? ["_bucket", "_sum", "_count"].map { name + $0 } : [name] }
}

/// The names of metrics in a PromQL expression.
enum PromQL {
  /// What Prometheus itself and the machine's exporter show, and we use.
  static let foreign: Set = ["up", "node_filesystem_avail_bytes", "node_filesystem_size_bytes"]

  static func metricNames(_ expression: String) -> Set<String> {
    // Label matchers and texts may contain anything.
    let bare = expression.replacing(/"[^"]*"/, with: "").replacing(/\{[^}]*\}/, with: "")
    let words = bare.matches(of: /[a-z][a-z0-9_]*/).map { String($0.output) }
    return Set(words.filter { $0.contains("_") && !functions.contains($0) || $0 == "up" })
  }

  private static let functions: Set = [
    "histogram_quantile", "max_over_time", "count_values", "label_replace", "group_left",
  ]
}
