/// By what right an instance takes a partition over: it is the partition's owner already, or nobody has taken it since
/// it was seen to be free. Without such a right a process that stood still would take back, when it goes on, what others
/// were given meanwhile.
package struct PartitionClaim: Hashable, Sendable {
  /// The number of the instance's membership; it becomes the partition's owner.
  package var owner: Int32
  /// The partition's epoch when it was seen to be free; 0 before it had an owner.
  package var seenEpoch: Int64

  package init(owner: Int32, seenEpoch: Int64) {
    self.owner = owner
    self.seenEpoch = seenEpoch
  }
}
