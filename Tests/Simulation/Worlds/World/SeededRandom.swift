import AdCore

/// The one source of chance of a simulation: the same seed gives the same world.
struct SeededRandom: RandomNumberGenerator {
  private var chance: SeededChance

  /// Neighbouring seeds begin far from each other.
  init(seed: UInt64) { chance = SeededChance(seed: seed &* 0xD134_2543_DE82_EF95 &+ 0x9E37_79B9) }

  mutating func next() -> UInt64 { chance.next() }

  /// Between the bounds, both included.
  mutating func number(_ bounds: ClosedRange<Int>) -> Int {
    bounds.lowerBound + Int(next() % UInt64(bounds.upperBound - bounds.lowerBound + 1))
  }

  mutating func milliseconds(_ bounds: ClosedRange<Int64>) -> Int64 {
    bounds.lowerBound + Int64(next() % UInt64(bounds.upperBound - bounds.lowerBound + 1))
  }

  /// True in `permille` of a thousand cases.
  mutating func chance(_ permille: Int) -> Bool { next() % 1_000 < UInt64(permille) }

  mutating func pick<Element>(_ choices: [Element]) -> Element { choices[number(0...choices.count - 1)] }
}
