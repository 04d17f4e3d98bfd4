package import AdCore
internal import Postgres
internal import Runtime

/// How comparisons leave the database to those who serve: behind each statement of theirs they rest, and not behind all of
/// them, so that a request never finds them at work for longer than one statement takes.
package struct ComparisonPace: Sendable {
  /// Of a connection's time they take a tenth.
  private static let restFactor: Int64 = 9
  /// After a statement that failed: somebody is told of it when the rest is over.
  private static let failureRestMaximum: Int64 = 600_000

  private let restFactor: Int64
  /// Nil where nobody stops what a person waits for.
  private let beside: (clock: any TimeSource, rest: @Sendable (Int64) -> Bool)?

  /// Without rests.
  package static let hurried = ComparisonPace(restFactor: 0, beside: nil)

  private init(restFactor: Int64, beside: (clock: any TimeSource, rest: @Sendable (Int64) -> Bool)?) {
    self.restFactor = restFactor
    self.beside = beside
  }

  /// - Parameter rest: waits so many milliseconds; false: the process stops, and so does the comparison.
  package init(clock: any TimeSource, rest: @escaping @Sendable (Int64) -> Bool) {
    self.init(restFactor: Self.restFactor, beside: (clock, rest))
  }

  /// The same without rests, for what is late already; it ends with the process all the same.
  package var hurried: ComparisonPace { ComparisonPace(restFactor: 0, beside: beside) }

  /// What took so long at this pace takes so long with rests.
  func withRests(_ milliseconds: Int64) -> Int64 {
    restFactor == 0 ? milliseconds * (1 + Self.restFactor) : milliseconds
  }

  /// Does one statement's work, and rests, whether it came to its end or failed.
  ///
  /// - Throws: also where the process stops meanwhile.
  func step<Result>(_ body: () throws(PostgresError) -> Result) throws(PostgresError) -> Result {
    guard let beside else { return try body() }
    let begin = beside.clock.monotonicMilliseconds
    let result = Swift.Result { () throws(PostgresError) in try body() }
    let rest = (beside.clock.monotonicMilliseconds - begin) * restFactor
    let hasFailed = if case .failure = result { true } else { false }
    guard beside.rest(hasFailed ? min(rest, Self.failureRestMaximum) : rest) else {
      throw PostgresError(.poolUnavailable, "the process stops, and the comparison with it")
    }
    return try result.get()
  }
}
