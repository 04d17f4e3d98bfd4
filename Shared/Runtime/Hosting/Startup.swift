/// Waiting for what a service needs and does not start itself: a database, migrated; Kafka, with its topics.
package enum Startup {
  /// Tries until it works or the service is told to stop; readiness says what it waits for.
  ///
  /// - Throws: ``ExitCode/unavailable`` when told to stop before it worked.
  package static func wait<Result>(
    for what: String, context: ServiceContext, _ body: () throws -> Result
  ) throws -> Result {
    let readiness = context.health.readiness(what, until: "waiting for \(what)")
    var retry = Retry(baseMilliseconds: 100)
    while true {
      do {
        let result = try body()
        readiness.setReady()
        return result
      } catch {
        if context.lifeCycle.isStopRequested { throw ExitCode.unavailable }
        context.logger.limited(
          .warning, key: "startup-\(what)", "waiting for \(what)", ["error": .init("\(error)")])
        retry.wait()
      }
    }
  }
}
