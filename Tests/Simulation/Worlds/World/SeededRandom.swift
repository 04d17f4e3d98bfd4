/// The one source of chance of a simulation (SplitMix64): the same seed gives the same world.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0xD134_2543_DE82_EF95 &+ 0x9E37_79B9 }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

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
