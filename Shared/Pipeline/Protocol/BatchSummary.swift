internal import AdCore

/// What became of the records of one batch.
package struct BatchSummary: Sendable {
  package var batches = 0
  package var records = 0
  /// Per outcome byte: how many records had it.
  package var outcomes = [Int](repeating: 0, count: 256)
  /// Batches that were decided again because ids existed already.
  package var duplicateRounds = 0
  package var bisections = 0

  package init() {}

  mutating func count(_ outcomes: [Outcome]) {
    batches += 1
    records += outcomes.count
    for outcome in outcomes { self.outcomes[Int(outcome.rawValue)] += 1 }
  }
}
