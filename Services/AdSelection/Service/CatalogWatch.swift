internal import AdCore
internal import AdEvents
internal import AdSelectionCore
internal import Dispatch
internal import Kafka
internal import PipelineHost
internal import Runtime
internal import Synchronization
internal import Threads

/// Follows the catalogue for ``CatalogSource``, says in readiness and metrics how it stands, and lets the start wait
/// until it is complete: before that nothing may be answered.
final class CatalogWatch: Sendable {
  private static let waitMilliseconds = 250

  private struct State {
    /// What was last said of the billing circuit breaker.
    var stop: PaidAdsStop?
  }

  private static let builder = DispatchQueue(label: "catalog-index", qos: .utility)

  /// Does what takes long for the catalogue, beside what comes on its topic.
  static func perform(_ job: @escaping @Sendable () -> Void) { builder.async(execute: job) }

  private let source: CatalogSource
  private let context: ServiceContext
  private let readiness: Readiness
  private let state = Mutex(State())
  /// Whether the catalogue was complete once.
  private let wasComplete = Monitor(false)

  init(source: CatalogSource, kafka: KafkaConfiguration, ring: KeyRing, context: ServiceContext) throws {
    self.source = source
    self.context = context
    readiness = context.health.readiness("catalog", until: "the catalogue is not complete yet")
    try CatalogFollower.start(kafka: kafka, ring: ring, context: context) { self.take($0) }
  }

  private func take(_ items: [CatalogFollower.Item]) {
    let now = context.clock.now
    let refused = source.apply(items.map(CatalogSource.Item.init), now: now)
    if refused > 0 {
      context.metrics.counter(SelectionMetrics.catalogRefused).add(refused)
      context.logger.limited(
        .error, key: "catalog-refused",
        "records of the catalogue were not taken: it is full, or a version is below 1 or too high",
        ["records": .init(refused), "maximum": .init(CatalogState.entriesMaximum)])
    }
    let state = source.state(at: now)
    let age = source.heartbeatAgeMilliseconds(at: now).map { Double($0) / 1_000 } ?? -1
    context.metrics.gauge(SelectionMetrics.catalogAge).set(age)
    for each in CatalogFreshness.State.allCases {
      context.metrics.gauge(SelectionMetrics.catalogState, ["state": each.rawValue]).set(each == state ? 1 : 0)
    }
    noteStop(source.stop(at: now))
    if state == .incomplete {
      readiness.setNotReady("the catalogue read does not agree with its heartbeat")
    } else {
      readiness.setReady()
    }
    if state == .complete || state == .stopped { wasComplete.update { $0 = true } }
  }

  /// Says once that paid ads stop, and once that they start again.
  private func noteStop(_ stop: PaidAdsStop?) {
    let isNews = state.withLock { state in
      defer { state.stop = stop }
      return state.stop != stop
    }
    guard isNews else { return }
    if let stop {
      context.logger.warning("paid ads are stopped by the billing circuit breaker", ["reason": .text("\(stop)")])
    } else {
      context.logger.notice("paid ads are served again")
    }
  }

  /// - Throws: `ExitCode.unavailable` when the service is told to stop before the catalogue was complete.
  func waitUntilComplete() throws(ExitCode) {
    while !wasComplete.wait(timeoutMilliseconds: Self.waitMilliseconds, until: { $0 }) {
      if context.lifeCycle.isStopRequested { throw .unavailable }
    }
  }
}

extension CatalogSource.Item {
  init(_ item: CatalogFollower.Item) {
    switch item {
    case .message(let message): self = .message(message)
    case .tombstone(let key): self = .tombstone(key: key)
    }
  }
}
