package import Pipeline

/// What the partitions of one process of impression tracking may remember together: ids of ads that were drawn
/// or seen, and of everything else that is taken once, in bytes; and what was sent on.
package struct ImpressionMemory: Sendable {
  package let shown: SharedBound
  package let others: SharedBound
  package let forwards = SharedBound(ForwardLimit.rememberedMaximum)

  package init(bytesMaximum: Int = RecentIDs.bytesMaximum) {
    shown = SharedBound(bytesMaximum / 2)
    others = SharedBound(bytesMaximum / 2)
  }
}
