import Kafka
import Operations
import Postgres
import Runtime

/// Publishes the catalogue while no console does it.
final class CatalogKeeper: Sendable {
  private let stopping = StopRequest()
  private let thread: OwnerThread
  private static let intervalMilliseconds = 1_000

  /// Begins at once.
  init(kafka: KafkaPlace, databaseURL: String, tell: @escaping @Sendable (String) -> Void) {
    let stopping = stopping
    let configuration = kafka.configuration(clientID: "handbill-catalog")
    thread = OwnerThread("catalog") {
      repeat {
        do {
          try ReportCommand.withPool(databaseURL) { pool in
            _ = try CatalogPublisher.publishOnce(pool: pool, kafka: configuration, now: SystemClock().now)
          }
        } catch { tell("the catalogue was not published: \(error)") }
      } while !stopping.wait(milliseconds: Self.intervalMilliseconds)
    }
  }

  /// Blocks until nothing is published any more.
  func stop() {
    stopping.make()
    thread.join()
  }
}
