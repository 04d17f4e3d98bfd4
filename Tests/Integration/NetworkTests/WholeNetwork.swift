import Foundation
import Testing

/// How long the device that is killed twice stays off line; `make offline` waits an hour by the wall clock.
let offlineMinutes = ProcessInfo.processInfo.environment["OFFLINE_MINUTES"].flatMap(Int.init) ?? 0

/// The tests of whole networks: one at a time, for each has a broker, a database and all services.
@Suite(.serialized, .timeLimit(.minutes(10 + offlineMinutes)))
enum WholeNetwork {}
