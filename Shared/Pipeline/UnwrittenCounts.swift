package import AdCore

/// A partition's counts per minute that no table has yet.
///
/// Most keys come again in the next batch, and changing a row costs PostgreSQL several times what inserting the counted
/// row does. So counts are collected here and written with the batch that finds them old enough, or too many.
/// They are lost with the process: at assignment they are counted again from the rows of the batches since the last one
/// that wrote them.
package struct UnwrittenCounts<Key: Hashable & Sendable>: Sendable {
  /// A count is in its table so long after its events, or a tick later where nothing arrives, while there are at most
  /// a thousand.
  static var intervalMilliseconds: Int64 { 1_000 }
  /// With more counts they wait longer, so that a partition changes no more than a thousand a second ...
  static var countsPerMillisecond: Int64 { 1 }
  /// ... but no longer than so, however many they are.
  static var longestIntervalMilliseconds: Int64 { 10_000 }
  /// Bounds the memory: about 16 MiB for each partition, and twice as much while they are written.
  static var keysMaximum: Int { 1 << 15 }

  private var places: [Key: Int] = [:]
  /// By the places above; 0 where batches were taken back.
  private var counts: [Int64] = []
  private var writtenAt: Timestamp
  /// When the batch at work writes them: its time.
  private var writing: Timestamp?

  /// - Parameters:
  ///   - counts: of the batches whose counts no table has yet.
  ///   - now: the time of the assignment.
  package init(_ counts: [Key: Int64], now: Timestamp) {
    writtenAt = now
    for (key, count) in counts { self.counts[place(of: key)] = count }
  }

  /// Counts one and returns the key's place, to take it back by.
  @discardableResult
  package mutating func add(_ key: Key) -> Int {
    let place = place(of: key)
    counts[place] += 1
    return place
  }

  private mutating func place(of key: Key) -> Int {
    let place = places[key, default: counts.count]
    if place == counts.count {
      places[key] = place
      counts.append(0)
    }
    return place
  }

  /// Takes back one of a batch that was not committed.
  package mutating func remove(at place: Int) { counts[place] -= 1 }

  /// Whether they are old enough at `now`, or too many.
  package func isDue(now: Timestamp) -> Bool {
    guard !counts.isEmpty, counts.count < Self.keysMaximum else { return !counts.isEmpty }
    let wanted = Int64(counts.count) / Self.countsPerMillisecond
    return now.milliseconds(since: writtenAt)
      >= min(max(wanted, Self.intervalMilliseconds), Self.longestIntervalMilliseconds)
  }

  /// What the batch at work is to write; nothing while they are not due.
  package mutating func due(now: Timestamp) -> [Key: Int64] {
    writing = isDue(now: now) ? now : nil
    guard writing != nil else { return [:] }
    return places.compactMapValues { counts[$0] > 0 ? counts[$0] : nil }
  }

  /// The batch at work was committed.
  package mutating func committed() {
    guard let writing else { return }
    places.removeAll(keepingCapacity: true)
    counts.removeAll(keepingCapacity: true)
    writtenAt = writing
    self.writing = nil
  }
}
