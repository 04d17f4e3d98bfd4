import AdCore
import AdEvents
import AdSelectionCore
import Foundation
import Kafka
import Runtime

/// Follows the catalogue for ``CatalogSource``, says in readiness and metrics how it stands, and lets the start wait
/// until it is complete: before that nothing may be answered.
///
/// `@unchecked Sendable` holds because `isComplete` and `lastStop` are only touched under the condition's lock; the rest
/// is constant.
final class CatalogWatch: @unchecked Sendable {
  private static let waitSeconds = 0.25

  private let source: CatalogSource
  private let context: ServiceContext
  private let readiness: Readiness
  private let condition = NSCondition()
  private var isComplete = false
  private var lastStop: PaidAdsStop?

  init(source: CatalogSource, kafka: KafkaConfiguration, context: ServiceContext) {
    self.source = source
    self.context = context
    readiness = context.health.readiness("catalog", until: "the catalogue is not complete yet")
    CatalogFollower.start(kafka: kafka, context: context) { self.take($0) }
  }

  private func take(_ items: [CatalogFollower.Item]) {
    let now = context.clock.now
    let refused = source.apply(items.map(CatalogSource.Item.init), now: now)
    if refused > 0 {
      context.metrics.counter(SelectionMetrics.catalogRefused).add(refused)
      context.logger.limited(.error, key: "catalog-refused", "records of the catalogue were not taken")
    }
    let state = source.state(at: now)
    let age = source.heartbeatAgeMilliseconds(at: now).map { Double($0) / 1_000 } ?? -1
    context.metrics.gauge(SelectionMetrics.catalogAge).set(age)
    context.metrics.gauge(SelectionMetrics.catalogState).set(state.rawValue)
    noteStop(source.stop(at: now))
    if state == .incomplete {
      readiness.setNotReady("the catalogue read does not agree with its heartbeat")
    } else {
      readiness.setReady()
    }
    condition.lock()
    isComplete = state == .complete || state == .stopped
    if isComplete { condition.broadcast() }
    condition.unlock()
  }

  /// Says once that paid ads stop, and once that they start again.
  private func noteStop(_ stop: PaidAdsStop?) {
    condition.lock()
    let isNews = lastStop != stop
    lastStop = stop
    condition.unlock()
    guard isNews else { return }
    if let stop {
      context.logger.warning("paid ads are stopped by the billing circuit breaker", ["reason": .text("\(stop)")])
    } else {
      context.logger.notice("paid ads are served again")
    }
  }

  /// - Throws: `ExitCode.unavailable` when the service is told to stop before the catalogue was complete.
  func waitUntilComplete() throws(ExitCode) {
    condition.lock()
    defer { condition.unlock() }
    while !isComplete {
      if context.lifeCycle.isStopRequested { throw .unavailable }
      _ = condition.wait(until: Date(timeIntervalSinceNow: Self.waitSeconds))
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
