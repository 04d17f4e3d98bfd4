package import AdCore

/// A 64-bit hash under a seed, the same on every machine and in every run (unlike `Hasher`), so that what it decides can
/// be repeated. Not for secrets: those go through HMAC.
package struct SeededHash: Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = SeededChance.mix(seed ^ SeededChance.step) }

  package mutating func combine(_ value: UInt64) {
    state = SeededChance.mix(state ^ value) &+ SeededChance.step
  }

  package mutating func combine(_ id: UUIDv7) {
    combine(id.high)
    combine(id.low)
  }

  package func finalized() -> UInt64 { SeededChance.mix(state) }
}
