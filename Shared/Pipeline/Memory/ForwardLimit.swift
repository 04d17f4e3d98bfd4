package import AdCore

/// How often a partition sends on what tells the same of the same ad, or the same request: a record that lies in the wrong
/// partition costs an entry of the outbox before anybody can know it for a duplicate. An honest client sends each thing to
/// one partition, and again only where its acknowledgement was lost.
///
/// Known as far as memory goes: nothing is accepted or charged by it, and where it is forgotten more is sent on, which is
/// then a duplicate where it belongs. Things are told apart by 64 bits of a hash that nobody outside can compute.
package struct ForwardLimit: Sendable {
  /// The most records of one ad or request and one kind, but where a kind can truly come more often.
  package static let ofOneMaximum = 4
  /// The most that all partitions of a process remember, if nothing else is said: less than a mebibyte.
  package static let rememberedMaximum = 1 << 15

  private var counts: RecentCounts<UInt8>
  /// What was sent on since ``begin()``, to take it back.
  private var undoLog: [UInt64] = []

  /// - Parameter bound: of how many things all partitions remember.
  package init(sharing bound: SharedBound = SharedBound(ForwardLimit.rememberedMaximum)) {
    counts = RecentCounts(sharing: bound)
  }

  /// How many things are remembered.
  var count: Int { counts.thingCount }

  /// A batch begins.
  package mutating func begin() {
    undoLog.empty()
    counts.keepToQuota()
  }

  /// Whether one more is sent on.
  ///
  /// - Parameters:
  ///   - id: of the served ad, or of the request.
  ///   - kind: what it tells of it, as the service numbers that.
  ///   - maximum: how often that may be told.
  package mutating func admit(_ id: UUIDv7, kind: UInt8 = 0, maximum: Int = ofOneMaximum) -> Bool {
    var hasher = Hasher()
    hasher.combine(id)
    hasher.combine(kind)
    let thing = UInt64(truncatingIfNeeded: hasher.finalize())
    let count = counts[thing]
    let isAdmitted = count < UInt8(clamping: maximum)
    // What goes on coming is not forgotten, sent on or not.
    counts.note(thing, count: isAdmitted ? count + 1 : count)
    guard isAdmitted else { return false }
    undoLog.append(thing)
    return true
  }

  /// The batch was committed.
  package mutating func committed() { undoLog.empty() }

  /// The batch was not committed: nothing of it was sent on.
  package mutating func revert() {
    for thing in undoLog where counts[thing] > 0 { counts.note(thing, count: counts[thing] - 1) }
    undoLog.empty()
  }
}
