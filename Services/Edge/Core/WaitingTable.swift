/// What waits for something to come from Kafka, each until its own moment at the latest: requests for their answers, batches
/// for the broker's word. `Reply` is whatever is answered.
package struct WaitingTable<Reply> {
  private struct Entry {
    let reply: Reply
    /// Words of the broker that are still to come.
    var left: Int
  }

  private let countMaximum: Int
  private var entries: [UInt64: Entry] = [:]
  private var deadlines = DeadlineQueue()
  private var lastID: UInt64 = 0

  /// - Parameter countMaximum: how many may wait at the same time.
  package init(countMaximum: Int) { self.countMaximum = countMaximum }

  package var count: Int { entries.count }
  /// Deadlines that are remembered, also of what is gone.
  var queueCount: Int { deadlines.count }
  /// The moment at which the next one has waited long enough; nil where none waits.
  package var nextDeadline: Int64? { deadlines.next }

  /// Adds one.
  ///
  /// - Parameter words: how often ``hear(_:)`` must be called until it is done.
  /// - Returns: its id, unique in this table; nil where too many wait.
  package mutating func add(_ reply: Reply, words: Int = 1, due: Int64) -> UInt64? {
    guard entries.count < countMaximum else { return nil }
    lastID += 1
    entries[lastID] = Entry(reply: reply, left: words)
    deadlines.add(lastID, due: due)
    if deadlines.count > 2 * entries.count + 1_000 {
      let entries = entries
      deadlines.keep { entries[$0] != nil }
    }
    return lastID
  }

  /// One word has come for `id`: what is to be answered, where it was the last one that was missing.
  package mutating func hear(_ id: UInt64) -> Reply? {
    guard let left = entries[id]?.left else { return nil }
    guard left > 1 else { return take(id) }
    entries[id]?.left = left - 1
    return nil
  }

  /// Takes one out, however much it still waits for; nil where it is gone.
  package mutating func take(_ id: UInt64) -> Reply? { entries.removeValue(forKey: id)?.reply }

  /// Takes those out that have waited long enough.
  package mutating func takeDue(now: Int64) -> [Reply] {
    deadlines.takeDue(now: now).compactMap { entries.removeValue(forKey: $0)?.reply }
  }

  /// Takes all out.
  package mutating func takeAll() -> [Reply] {
    defer {
      entries = [:]
      deadlines = DeadlineQueue()
    }
    return entries.values.map(\.reply)
  }
}
