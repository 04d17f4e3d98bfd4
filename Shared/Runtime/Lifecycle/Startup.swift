internal import Migrations
internal import Postgres
internal import Threads

/// Waiting for what a service needs and does not start itself: a database, migrated; Kafka, with its topics.
package enum Startup {
  /// Tries until it works or the service is told to stop; readiness says what it waits for.
  ///
  /// - Parameter isHopeless: which errors no waiting mends.
  /// - Throws: ``ExitCode/unavailable`` when told to stop before it worked, ``ExitCode/configuration`` after a hopeless
  ///   error, which is logged.
  package static func wait<Result>(
    for what: String, context: ServiceContext, isHopeless: (any Error) -> Bool = { _ in false },
    _ body: () throws -> Result
  ) throws -> Result {
    let readiness = context.health.readiness(what, until: "waiting for \(what)")
    var retry = Retry(baseMilliseconds: 100)
    let began = SystemClock().monotonicMilliseconds
    while true {
      do {
        let result = try body()
        readiness.setReady()
        context.logger.debug(
          "\(what) is there", ["after_ms": LogValue(SystemClock().monotonicMilliseconds - began)])
        return result
      } catch {
        if context.lifeCycle.isStopRequested { throw ExitCode.unavailable }
        if isHopeless(error) {
          context.logger.critical("cannot start", ["error": .init("\(error)")])
          throw ExitCode.configuration
        }
        context.logger.limited(
          .warning, key: "startup-\(what)", "waiting for \(what)", ["error": .init("\(error)")])
        retry.wait(unless: context.lifeCycle.stopRequest)
      }
    }
  }

  /// A schema that is none of this program's, a refused user or password, a database that is not there: a person must
  /// act. A schema that is too old is waited for: somebody may be migrating it.
  package static func cannotMendItself(_ error: any Error) -> Bool {
    switch error {
    case let error as PostgresError: isRefusal(error)
    case MigrationError.database(let error): isRefusal(error)
    case MigrationError.tooOld, MigrationError.otherLogic, MigrationError.failed: false
    case is MigrationError: true
    default: false
    }
  }

  private static func isRefusal(_ error: PostgresError) -> Bool {
    [.authenticationFailed, .invalidConfiguration].contains(error.kind)
  }
}
