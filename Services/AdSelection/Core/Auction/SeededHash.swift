package import AdCore

/// A 64-bit hash under a seed, the same on every machine and in every run (unlike `Hasher`), so that what it decides can
/// be repeated. Not for secrets: those go through HMAC.
package struct SeededHash: Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = SeededHash.mix(seed ^ 0x9E37_79B9_7F4A_7C15) }

  package mutating func combine(_ value: UInt64) {
    state = SeededHash.mix(state ^ value) &+ 0x9E37_79B9_7F4A_7C15
  }

  package mutating func combine(_ id: UUIDv7) {
    combine(id.high)
    combine(id.low)
  }

  package func finalized() -> UInt64 { SeededHash.mix(state) }

  /// The finalizer of the splitmix64 generator: each bit of the input moves half of the output's.
  private static func mix(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
