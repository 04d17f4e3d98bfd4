internal import Postgres
package import Runtime

/// How comparisons leave the database to those who serve: behind each statement of theirs they rest, and not behind all of
/// them, so that a request never finds them at work for longer than one statement takes.
package struct ComparisonPace: Sendable {
  /// Of a connection's time they take a tenth.
  private static let restFactor: Int64 = 9

  /// Nil where a person waits for the result.
  private let beside: (clock: any TimeSource, rest: @Sendable (Int64) -> Bool)?

  /// Without rests.
  package static let hurried = ComparisonPace(beside: nil)

  private init(beside: (clock: any TimeSource, rest: @Sendable (Int64) -> Bool)?) { self.beside = beside }

  /// - Parameter rest: waits so many milliseconds; false: the process stops, and so does the comparison.
  package init(clock: any TimeSource, rest: @escaping @Sendable (Int64) -> Bool) {
    self.init(beside: (clock, rest))
  }

  /// Does one statement's work, and rests.
  ///
  /// - Throws: also where the process stops meanwhile.
  func step<Result>(_ body: () throws(PostgresError) -> Result) throws(PostgresError) -> Result {
    guard let beside else { return try body() }
    let begin = beside.clock.monotonicMilliseconds
    let result = try body()
    guard beside.rest((beside.clock.monotonicMilliseconds - begin) * Self.restFactor) else {
      throw PostgresError(.poolUnavailable, "the process stops, and the comparison with it")
    }
    return result
  }
}
