import AdCore
import AdEvents
import AdSelectionCore
import Foundation
import LocalProcesses
import Pipeline
import Testing

/// Debian's package `prometheus` brings promtool; `make install-tests` installs it.
private let hasPromtool = FileManager.default.isExecutableFile(atPath: "/usr/bin/promtool")

@Suite("Prometheus")
struct PrometheusTests {
  private struct Rule {
    var name: String
    var expression: String
    var runbook: String
  }

  private static let testFiles = ["alerts_test.yml", "alerts_hours_test.yml"]

  /// Alerts as the file has them: `alert:`, `expr:` (in one line or folded) and `runbook:`.
  private static func rules() throws -> [Rule] {
    try PackageText.text("deploy/prometheus/alerts.yml").components(separatedBy: "- alert: ").dropFirst().map { part in
      let lines = part.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      let start = try #require(lines.firstIndex { $0.hasPrefix("expr:") })
      let end = try #require(lines[(start + 1)...].firstIndex { $0.hasPrefix("for:") || $0.hasPrefix("labels:") })
      let runbook = try #require(lines.first { $0.hasPrefix("runbook: ") })
      return Rule(
        name: lines[0], expression: lines[start..<end].joined(separator: " ").replacing("expr:", with: ""),
        runbook: String(runbook.dropFirst("runbook: ".count)))
    }
  }

  private static func promtool(_ arguments: [String], input: ChildProcess.Input = .empty) async throws -> [String] {
    try await onOwnThread {
      try ChildProcess.run(
        ChildProcess.Command(
          "promtool", arguments, environment: ["GOGC": "400"],
          workingDirectory: PackageRoot.path("deploy/prometheus"), input: input),
        // All alerts' tests need 6 s of a processor that may be busy with others.
        timeoutMilliseconds: 300_000)
    }
  }

  @Test("I3: outcomes and reasons in alerts, dashboards and documents are words that the services say")
  func outcomes() throws {
    let outcomes = (0...UInt8.max).map(Outcome.init).filter { !$0.name.contains { $0.isNumber } }
    let words = [
      "outcome": Set(outcomes.map(\.kind)), "reason": Set(outcomes.map(\.reason).filter { Int($0) == nil }),
    ]
    let files =
      PackageText.paths(in: "deploy", ending: ".yml") + PackageText.paths(in: "deploy", ending: ".json")
      + PackageText.paths(in: "docs", ending: ".md")
    var uses = 0
    for file in files {
      let text = try PackageText.text(file).replacing("\\\"", with: "\"")
      for selector in text.matches(of: /handbill_records_total\{([^}]*)\}/) {
        for matcher in selector.output.1.matches(of: /(outcome|reason)(?:=|!=|=~|!~)"([^"]*)"/) {
          for word in matcher.output.2.split(separator: "|", omittingEmptySubsequences: false) {
            uses += 1
            #expect(words[String(matcher.output.1)]?.contains(String(word)) == true, "\(file): \(selector.output.0)")
          }
        }
      }
    }
    #expect(uses > 15)
  }

  @Test("Every kind of trouble that the services say has its alert, and mistakes are no outage")
  func reopenings() throws {
    var alertsOfKinds: [String: Set<String>] = [:]
    for rule in try Self.rules() {
      for selector in rule.expression.matches(of: /handbill_partition_reopenings_total\{reason=~?"([^"]*)"\}/) {
        for kind in selector.output.1.split(separator: "|") {
          alertsOfKinds[String(kind), default: []].insert(rule.name)
        }
      }
    }
    let alert: [PipelineError.Kind: String] = [
      .databaseUnavailable: "DatabaseAway", .databaseMisconfigured: "DatabaseMisconfigured",
      .logUnreadable: "BrokerAway", .producerUnavailable: "BrokerAway", .notOpen: "InvariantBroken",
      .invariantBroken: "InvariantBroken",
    ]
    // A partition that somebody else owns is no trouble; one whose log was replaced, or whose commits are lost, stops, which
    // PartitionStopped and CommitsLost tell.
    #expect(Set(PipelineError.Kind.allCases) == Set(alert.keys).union([.fenced, .logReplaced, .commitsLost]))
    #expect(alertsOfKinds == Dictionary(uniqueKeysWithValues: alert.map { ($0.key.rawValue, [$0.value]) }))
  }

  @Test("promtool accepts configuration and rules", .enabled(if: hasPromtool, "promtool is not installed"))
  func check() async throws {
    _ = try await Self.promtool(["check", "config", "--syntax-only", "prometheus.yml"])
    #expect(try await Self.promtool(["check", "rules", "alerts.yml"]).contains { $0.contains("SUCCESS") })
  }

  @Test("Every alert fires when it must and not else", .enabled(if: hasPromtool, "promtool is not installed"))
  func alertTests() async throws {
    let said = try await Self.promtool(["test", "rules"] + Self.testFiles)
    #expect(said.count { $0.contains("SUCCESS") } == Self.testFiles.count)
  }

  @Test("Every alert has a test in which it fires and one in which it does not")
  func everyAlertIsTested() throws {
    let tests = try Self.testFiles.map { try PackageText.text("deploy/prometheus/\($0)") }.joined()
    let rules = try Self.rules()
    #expect(rules.count > 10)
    for rule in rules {
      #expect(tests.contains("- name: \(rule.name) fires\n"), "\(rule.name)")
      #expect(tests.contains("- name: \(rule.name) stays quiet\n"), "\(rule.name)")
    }
  }

  @Test("Every alert has its entry in the runbooks, and each entry an alert")
  func runbooks() throws {
    let headings = try PackageText.text("docs/runbooks.md").split(separator: "\n")
      .filter { $0.hasPrefix("## ") }.map { String($0.dropFirst(3)) }
    let rules = try Self.rules()
    #expect(headings == rules.map(\.name))
    for rule in rules { #expect(rule.runbook == "docs/runbooks.md#\(rule.name.lowercased())") }
  }

  @Test("Every line that the runbooks quote of a log is one that the programs write")
  func logLines() throws {
    let sources = try PackageText.sources()
    let text = try PackageText.text("docs/runbooks.md").replacing(/\n +/, with: " ")
    // Words alone: what has anything else is a command, a name or a statement.
    let quoted = text.matches(of: /`([a-z]+(?: (?:[a-z]+|…)[;,]?){2,})`/).map { String($0.output.1) }
      .filter { !$0.hasPrefix("handbill ") && !$0.hasPrefix("docker ") }
    #expect(quoted.count >= 4)
    for line in quoted {
      for part in line.split(separator: "…").map({ $0.trimmingCharacters(in: .whitespaces) }) {
        #expect(sources.contains { $0.contains(part) }, "\(line)")
      }
    }
  }

  @Test("States of the catalogue in alerts are names of states")
  func catalogStates() throws {
    let expressions = try Self.rules().map(\.expression).filter { $0.contains("handbill_catalog_state") }
    #expect(expressions.count >= 2)
    for expression in expressions {
      let name = expression.firstMatch(of: /handbill_catalog_state\{state="([^"]*)"\}/)?.output.1
      #expect(name.flatMap { CatalogFreshness.State(rawValue: String($0)) } != nil, "\(expression)")
    }
  }

  @Test("The commands that the runbooks name exist")
  func commands() throws {
    let sources = try PackageText.paths(in: "Services/Handbill", ending: ".swift").map(PackageText.text)
    let declared = Set(
      sources.flatMap { $0.matches(of: /Command\(\s*"([a-z-]+)"/).map { String($0.output.1) } })
    let runbooks = try PackageText.text("docs/runbooks.md")
    let named = Set(runbooks.matches(of: /`handbill ([a-z-]+)/).map { String($0.output.1) })
    #expect(!named.isEmpty)
    #expect(named.subtracting(declared).isEmpty)
  }

  @Test("Every metric that an alert names is one that a service declares")
  func metricNames() throws {
    let known = Set(try DeclaredMetric.all().flatMap(\.storedNames)).union(PromQL.foreign)
    for rule in try Self.rules() {
      let names = PromQL.metricNames(rule.expression)
      #expect(!names.isEmpty, "\(rule.name)")
      #expect(names.subtracting(known).isEmpty, "\(rule.name)")
    }
  }

  @Test("Every metric's name passes promtool's check", .enabled(if: hasPromtool, "promtool is not installed"))
  func metrics() async throws {
    let folder = try TemporaryFolder()
    let file = folder.path + "/metrics"
    let declared = try DeclaredMetric.all()
    #expect(declared.count > 20)
    let text = declared.sorted { $0.name < $1.name }.map { metric in
      let head = "# HELP \(metric.name) What it says.\n# TYPE \(metric.name) \(metric.kind)\n"
      return metric.kind == "histogram"
        ? head + "\(metric.name)_bucket{le=\"+Inf\"} 1\n\(metric.name)_sum 1\n\(metric.name)_count 1\n"
        : head + "\(metric.name) 1\n"
    }
    try text.joined().write(toFile: file, atomically: true, encoding: .utf8)
    #expect(try await Self.promtool(["check", "metrics"], input: .file(file)).isEmpty)
  }
}
