internal import Pipeline
internal import Synchronization

/// What this instance does with which partitions, told by the reader, and under which number it takes part, told by the
/// keeper of the leases.
final class PartitionHoldings: Sendable {
  private struct State {
    var member: Int32?
    var phases: [Int32: LeasePhase] = [:]
  }

  private let state = Mutex(State())

  /// Nil before the first membership.
  var member: Int32? {
    get { state.withLock { $0.member } }
    set { state.withLock { $0.member = newValue } }
  }

  var phases: [Int32: LeasePhase] {
    get { state.withLock { $0.phases } }
    set { state.withLock { $0.phases = newValue } }
  }

  /// What was held before the tables were read, and what after it: all that was there at either time, and as open only
  /// what was so at both, so that the tables must have shown it.
  static func around(_ before: [Int32: LeasePhase], _ after: [Int32: LeasePhase]) -> [Int32: LeasePhase] {
    var held = before.merging(after) { _, after in after }
    for (partition, phase) in held where phase == .open && (before[partition] != .open || after[partition] != .open) {
      held[partition] = .opening
    }
    return held
  }
}
