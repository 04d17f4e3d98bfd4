/// Chance that can be had again: the same seed gives the same numbers on every machine and in every run (SplitMix64). Not
/// for secrets.
package struct SeededChance: RandomNumberGenerator, Sendable {
  /// What the state moves on by: 2⁶⁴ by the golden ratio.
  package static let step: UInt64 = 0x9E37_79B9_7F4A_7C15

  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= Self.step
    return Self.mix(state)
  }

  /// Each bit of `value` moves half of the result's.
  @inlinable
  package static func mix(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
