import Foundation
import Testing

/// The tests of whole networks: one at a time, for each has a broker, a database and all services.
@Suite(.serialized, .timeLimit(.minutes(10 + WholeNetwork.offlineMinutes)))
enum WholeNetwork {
  /// How long the device that is killed twice stays off line; `make offline` waits an hour by the wall clock.
  static let offlineMinutes = ProcessInfo.processInfo.environment["OFFLINE_MINUTES"].flatMap(Int.init) ?? 0
}
