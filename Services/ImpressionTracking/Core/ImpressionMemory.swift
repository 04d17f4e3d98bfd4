package import Pipeline

/// What the partitions of one process of impression tracking may remember together, in bytes: ids of impressions, and
/// of everything else that is taken once.
package struct ImpressionMemory: Sendable {
  package let views: SharedBound
  package let others: SharedBound

  package init(bytesMaximum: Int = RecentIDs.bytesMaximum) {
    views = SharedBound(bytesMaximum / 2)
    others = SharedBound(bytesMaximum / 2)
  }
}
