internal import AdCore
internal import Pipeline
internal import Runtime

/// The instruments of one worker, looked up once.
final class WorkerMeters: Sendable {
  private let registry: MetricsRegistry
  private let worker: Int
  private let open: CombinedGauge
  private let stopped: CombinedGauge
  private let commitsLost: CombinedGauge
  private let batches: Counter
  private let batchRecords: Histogram
  private let batchSeconds: Histogram
  private let duplicateRounds: Counter
  private let bisections: Counter

  /// What the workers of a process add up to one gauge.
  final class CombinedGauge: Sendable {
    private let gauge: Gauge
    private let values: Locked<[Int: Double]>
    private let combine: @Sendable ([Double]) -> Double

    init(_ gauge: Gauge, combine: @escaping @Sendable ([Double]) -> Double) {
      self.gauge = gauge
      self.combine = combine
      values = Locked([:])
    }

    func set(_ value: Double, of worker: Int) {
      values.withLock { values in
        values[worker] = value
        gauge.set(combine(Array(values.values)))
      }
    }
  }

  private let watermarkAge: CombinedGauge

  /// What all workers of a process add up to.
  struct Gauges {
    let open: CombinedGauge
    let stopped: CombinedGauge
    let commitsLost: CombinedGauge
    let watermarkAge: CombinedGauge

    init(_ metrics: MetricsRegistry) {
      open = CombinedGauge(metrics.gauge(HostMetrics.partitionsOpen)) { $0.reduce(0, +) }
      stopped = CombinedGauge(metrics.gauge(HostMetrics.partitionsStopped)) { $0.reduce(0, +) }
      commitsLost = CombinedGauge(metrics.gauge(HostMetrics.commitsLost)) { $0.reduce(0, +) }
      watermarkAge = CombinedGauge(metrics.gauge(HostMetrics.watermarkAge)) { $0.max() ?? 0 }
    }
  }

  init(registry: MetricsRegistry, worker: Int, gauges: Gauges) {
    self.registry = registry
    self.worker = worker
    open = gauges.open
    stopped = gauges.stopped
    commitsLost = gauges.commitsLost
    watermarkAge = gauges.watermarkAge
    batches = registry.counter(HostMetrics.batches)
    batchRecords = registry.histogram(HostMetrics.batchRecords)
    batchSeconds = registry.histogram(HostMetrics.batchSeconds)
    duplicateRounds = registry.counter(HostMetrics.duplicateRounds)
    bisections = registry.counter(HostMetrics.bisections)
    // From the start, so that the first one of a kind is seen as a rise.
    for kind in PipelineError.Kind.allCases where kind != .fenced {
      _ = registry.counter(HostMetrics.reopenings, ["reason": kind.rawValue])
    }
  }

  func add(_ summary: BatchSummary, microseconds: Int64 = 0) {
    guard summary.batches > 0 else { return }
    batches.add(summary.batches)
    if summary.records > 0 {
      batchRecords.observe(Double(summary.records))
      batchSeconds.observe(Double(microseconds) / 1_000_000)
    }
    if summary.duplicateRounds > 0 { duplicateRounds.add(summary.duplicateRounds) }
    if summary.bisections > 0 { bisections.add(summary.bisections) }
    for (number, count) in summary.outcomes.enumerated() where count > 0 {
      let outcome = Outcome(rawValue: UInt8(number))
      registry.counter(HostMetrics.records, ["outcome": outcome.kind, "reason": outcome.reason]).add(count)
    }
  }

  func count(_ alarm: PipelineAlarm) {
    switch alarm {
    case .lostOffsets(let topic, let range, _), .lostSequences(let topic, let range):
      registry.counter(HostMetrics.lost, ["topic": topic]).add(range.count)
    case .timerRefused:
      registry.counter(HostMetrics.timerRefusals).add()
    }
  }

  func partitions<Batch>(_ state: WorkerState<Batch>) {
    open.set(Double(state.openCount), of: worker)
    stopped.set(Double(state.stoppedCount), of: worker)
    commitsLost.set(Double(state.commitsLostCount), of: worker)
  }

  func reopening(_ error: PipelineError) {
    registry.counter(HostMetrics.reopenings, ["reason": error.kind.rawValue]).add()
  }

  func watermarks(_ watermarks: [Timestamp], now: Timestamp) {
    let oldest = watermarks.filter { $0.milliseconds > 0 }.min()
    watermarkAge.set(oldest.map { Double(now.milliseconds(since: $0)) / 1_000 } ?? 0, of: worker)
  }
}
