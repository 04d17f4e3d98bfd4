package import AdCore

extension SeededChance {
  /// Between the bounds, both included.
  package mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
}
