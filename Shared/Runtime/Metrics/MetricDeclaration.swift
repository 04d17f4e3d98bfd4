/// What a metric is. Declare each once, as a static constant: dashboards and alerts are checked against the lists.
package struct MetricDeclaration: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// Only grows; its name ends in `_total`.
    case counter
    case gauge
    /// With these upper bounds, ascending; what lies above the last is counted as `+Inf`.
    case histogram(bounds: [Double])
  }

  /// The full name with prefix and unit, such as `handbill_database_commit_duration_seconds`.
  package let name: String
  package let kind: Kind
  /// One sentence.
  package let help: String
  /// Names of labels. Their values must come from small, closed sets: never an id that a person or device chooses.
  package let labels: [String]
  /// The most label sets kept; what comes after them is counted together, each label being `other`.
  package let seriesMaximum: Int

  private init(_ name: String, _ kind: Kind, help: String, labels: [String], seriesMaximum: Int) {
    self.name = name
    self.kind = kind
    self.help = help
    self.labels = labels
    self.seriesMaximum = seriesMaximum
  }

  /// The most label sets of a metric that says nothing else.
  package static let seriesMaximumDefault = 500

  package static func counter(
    _ name: String, help: String, labels: [String] = [], seriesMaximum: Int = seriesMaximumDefault
  ) -> Self {
    Self(name, .counter, help: help, labels: labels, seriesMaximum: seriesMaximum)
  }

  package static func gauge(
    _ name: String, help: String, labels: [String] = [], seriesMaximum: Int = seriesMaximumDefault
  ) -> Self {
    Self(name, .gauge, help: help, labels: labels, seriesMaximum: seriesMaximum)
  }

  package static func histogram(
    _ name: String, bounds: [Double], help: String, labels: [String] = [], seriesMaximum: Int = seriesMaximumDefault
  ) -> Self {
    Self(name, .histogram(bounds: bounds), help: help, labels: labels, seriesMaximum: seriesMaximum)
  }

  /// Bounds for durations in seconds, from 100 us to 10 s.
  package static let secondsBounds: [Double] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]

  /// Bounds for numbers of things, from 1 to 100,000.
  package static let countBounds: [Double] = [
    1, 10, 50, 100, 500, 1_000, 2_500, 5_000, 10_000, 20_000, 50_000, 100_000,
  ]
}
