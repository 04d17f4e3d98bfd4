import Foundation
import Testing

@testable import Runtime

@Suite("Metrics")
struct MetricsTests {
  private static let records = MetricDeclaration.counter(
    "handbill_test_records_total", help: "Records\nby \\ \"outcome\".", labels: ["topic", "outcome"], seriesMaximum: 3)
  private static let lag = MetricDeclaration.gauge("handbill_test_lag_records", help: "Records not read yet.")
  private static let duration = MetricDeclaration.histogram(
    "handbill_test_commit_duration_seconds", bounds: [0.1, 1], help: "How long a commit took.", labels: ["service"])

  @Test("labels and help are escaped")
  func escaping() {
    let registry = MetricsRegistry()
    registry.counter(Self.records, ["topic": "a\\b\"c\nd", "outcome": "é"]).add(3)
    let lines = registry.exposition().split(separator: "\n")
    #expect(lines.contains(#"# HELP handbill_test_records_total Records\nby \\ "outcome"."#))
    #expect(lines.contains(#"handbill_test_records_total{topic="a\\b\"c\nd",outcome="é"} 3"#))
  }

  @Test("beyond the limit of label sets everything is counted together")
  func bounded() {
    let registry = MetricsRegistry()
    for index in 0..<100 { registry.counter(Self.records, ["topic": "\(index)", "outcome": "x"]).add() }
    let text = registry.exposition()
    #expect(text.contains(#"{topic="other",outcome="other"} 97"#))
    #expect(text.split(separator: "\n").count == 2 + 4)
  }

  @Test("the same labels in any order are the same counter")
  func sameSeries() {
    let registry = MetricsRegistry()
    let one = registry.counter(Self.records, ["topic": "t", "outcome": "o"])
    let two = registry.counter(Self.records, ["outcome": "o", "topic": "t"])
    #expect(one === two)
    one.add(-5)
    one.add(2)
    #expect(two.value == 2)
  }

  @Test("a histogram's buckets are cumulative and include their bounds")
  func histograms() {
    let registry = MetricsRegistry()
    let histogram = registry.histogram(Self.duration, ["service": "b"])
    for value in [0.1, 0.5, 1, 2, .nan] { histogram.observe(value) }
    let text = registry.exposition()
    for line in [
      #"_bucket{service="b",le="0.1"} 1"#, #"_bucket{service="b",le="1"} 3"#, #"_bucket{service="b",le="+Inf"} 4"#,
      #"_sum{service="b"} 3.6"#, #"_count{service="b"} 4"#,
    ] {
      #expect(text.contains("handbill_test_commit_duration_seconds" + line + "\n"), "\(line)")
    }
  }

  @Test("additions of many threads are all counted")
  func concurrency() {
    let counter = Counter()
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<1_000 { counter.add() }
    }
    #expect(counter.value == 8_000)
  }

  @Test("declared metrics are shown from the beginning, removed label sets no more")
  func lifeOfSeries() {
    let registry = MetricsRegistry([Self.lag])
    #expect(registry.exposition().contains("handbill_test_lag_records 0\n"))
    registry.counter(Self.records, ["topic": "t", "outcome": "o"]).add()
    registry.remove(Self.records, ["topic": "t", "outcome": "o"])
    #expect(!registry.exposition().contains("handbill_test_records_total"))
  }

  private static let promtool = "/usr/bin/promtool"

  @Test(
    "promtool finds nothing to complain about",
    .enabled(if: FileManager.default.isExecutableFile(atPath: promtool), "promtool (package prometheus) is missing"))
  func promtoolLint() throws {
    let registry = MetricsRegistry([Self.lag])
    ProcessMetrics.register(in: registry, service: "test")
    registry.counter(Self.records, ["topic": "a\\b\"c\nd", "outcome": "é"]).add(3)
    registry.histogram(Self.duration, ["service": "b"]).observe(0.2)
    let text = registry.exposition()
    for declaration in ProcessMetrics.declarations { #expect(text.contains("\n\(declaration.name)"), "\(declaration)") }
    let process = Process()
    let input = Pipe()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: Self.promtool)
    process.arguments = ["check", "metrics"]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = output
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    try input.fileHandleForWriting.close()
    let said = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(said == "")
  }
}
