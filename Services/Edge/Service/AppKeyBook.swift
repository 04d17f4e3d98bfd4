internal import AdCore
internal import EdgeCore
internal import Kafka
internal import PipelineHost
internal import Runtime
internal import Synchronization

/// The app keys of the catalogue, as they are now.
final class AppKeyBook: Sendable {
  private let keys = Mutex(AppKeys())
  private let readiness: Readiness

  init(kafka: KafkaConfiguration, ring: KeyRing, context: ServiceContext) throws {
    readiness = context.health.readiness("catalog", until: "the catalogue is not read yet")
    try CatalogFollower.start(kafka: kafka, ring: ring, context: context) { self.take($0) }
  }

  private func take(_ items: [CatalogFollower.Item]) {
    let isComplete = keys.withLock { keys in
      for item in items {
        switch item {
        case .message(let message): keys.apply(message)
        case .tombstone(let key): keys.applyTombstone(key: key)
        }
      }
      return keys.isComplete
    }
    if isComplete { readiness.setReady() }
  }

  /// See ``AppKeys/app(ofKey:named:)``.
  func app(ofKey key: String, named app: AppID?) throws(EdgeRefusal) -> AppID {
    try keys.withLock { $0.app(ofKey: key, named: app) }.get()
  }
}
