import Pipeline
import Synchronization

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

  /// What was held before a look at the tables, and what after it: all that was there at either time, and as open only
  /// what was so at both, so that the tables must have shown it.
  static func around(_ before: [Int32: LeasePhase], _ after: [Int32: LeasePhase]) -> [Int32: LeasePhase] {
    var held = before.merging(after) { _, after in after }
    for (partition, phase) in held where phase == .open && (before[partition] != .open || after[partition] != .open) {
      held[partition] = .opening
    }
    return held
  }
}

/// What the keeper of the leases tells the reader.
enum LeaseOrder: Sendable {
  case take([Int32: PartitionClaim])
  /// In order: the open batch is finished first.
  case release([Int32])
  /// Others have taken them.
  case lose([Int32])
  /// Whether this instance has its share, and no more.
  case settled(Bool)
}
