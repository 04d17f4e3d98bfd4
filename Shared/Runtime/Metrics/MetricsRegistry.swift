internal import Synchronization

/// The metrics of a process. Ask for an instrument once and keep it: asking takes a lock, using it none.
package final class MetricsRegistry: Sendable {
  private enum Instrument: Sendable {
    case counter(Counter)
    case gauge(Gauge)
    case sampled(@Sendable () -> Double?)
    case histogram(Histogram)
  }

  private struct Family: Sendable {
    let declaration: MetricDeclaration
    /// By label values in the order of the declaration's labels.
    var series: [[String]: Instrument] = [:]
  }

  private let families = Mutex<[String: Family]>([:])

  /// - Parameter declarations: shown from the beginning; those without labels with the value 0, as rates need it.
  package init(_ declarations: [MetricDeclaration] = []) {
    for declaration in declarations where declaration.labels.isEmpty {
      switch declaration.kind {
      case .counter: _ = counter(declaration)
      case .gauge: _ = gauge(declaration)
      case .histogram: _ = histogram(declaration)
      }
    }
  }

  /// The counter with these labels (in any order; a missing one is empty, an undeclared one is ignored).
  package func counter(_ declaration: MetricDeclaration, _ labels: KeyValuePairs<String, String> = [:]) -> Counter {
    let instrument = instrument(declaration, labels) { .counter(Counter()) }
    if case .counter(let counter) = instrument { return counter }
    return Counter()
  }

  package func gauge(_ declaration: MetricDeclaration, _ labels: KeyValuePairs<String, String> = [:]) -> Gauge {
    let instrument = instrument(declaration, labels) { .gauge(Gauge()) }
    if case .gauge(let gauge) = instrument { return gauge }
    return Gauge()
  }

  package func histogram(
    _ declaration: MetricDeclaration, _ labels: KeyValuePairs<String, String> = [:]
  ) -> Histogram {
    guard case .histogram(let bounds) = declaration.kind else { return Histogram(bounds: []) }
    let instrument = instrument(declaration, labels) { .histogram(Histogram(bounds: bounds)) }
    if case .histogram(let histogram) = instrument { return histogram }
    return Histogram(bounds: bounds)
  }

  /// A gauge or counter that is read whenever somebody looks; nil leaves it out. `read` must be quick and must not
  /// wait. It replaces what these labels had.
  package func sample(
    _ declaration: MetricDeclaration, _ labels: KeyValuePairs<String, String> = [:],
    read: @escaping @Sendable () -> Double?
  ) {
    let key = MetricsRegistry.key(declaration, labels)
    families.withLock { families in
      var family = families[declaration.name] ?? Family(declaration: declaration)
      if family.series[key] != nil || family.series.count < declaration.seriesMaximum {
        family.series[key] = .sampled(read)
      }
      families[declaration.name] = family
    }
  }

  /// Forgets a label set that no longer exists, such as a partition given up.
  package func remove(_ declaration: MetricDeclaration, _ labels: KeyValuePairs<String, String>) {
    let key = MetricsRegistry.key(declaration, labels)
    families.withLock { families in families[declaration.name]?.series[key] = nil }
  }

  /// All metrics in Prometheus' text format 0.0.4, by name and labels.
  package func exposition() -> String {
    let families = families.withLock { Array($0.values) }
    var output = ""
    for family in families.sorted(by: { $0.declaration.name < $1.declaration.name }) where !family.series.isEmpty {
      MetricsText.appendHead(family.declaration, to: &output)
      for (labels, instrument) in family.series.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
        let pairs = Array(zip(family.declaration.labels, labels))
        let name = family.declaration.name
        switch instrument {
        case .counter(let counter): MetricsText.appendSample(name, pairs, "\(counter.value)", to: &output)
        case .gauge(let gauge): MetricsText.appendSample(name, pairs, MetricsText.number(gauge.value), to: &output)
        case .sampled(let read):
          if let value = read() { MetricsText.appendSample(name, pairs, MetricsText.number(value), to: &output) }
        case .histogram(let histogram): MetricsText.appendHistogram(name, pairs, histogram, to: &output)
        }
      }
    }
    return output
  }

  private func instrument(
    _ declaration: MetricDeclaration, _ labels: KeyValuePairs<String, String>, make: () -> Instrument
  ) -> Instrument {
    families.withLock { families in
      var family = families[declaration.name] ?? Family(declaration: declaration)
      defer { families[declaration.name] = family }
      var key = MetricsRegistry.key(declaration, labels)
      if family.series[key] == nil, family.series.count >= declaration.seriesMaximum {
        key = declaration.labels.map { _ in "other" }
      }
      let instrument = family.series[key] ?? make()
      family.series[key] = instrument
      return instrument
    }
  }

  private static func key(_ declaration: MetricDeclaration, _ labels: KeyValuePairs<String, String>) -> [String] {
    declaration.labels.map { name in labels.first { $0.key == name }?.value ?? "" }
  }
}
