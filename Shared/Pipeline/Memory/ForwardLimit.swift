package import AdCore

/// How often a partition sends on what tells the same of the same ad, or the same request: a record that lies in the wrong
/// partition costs an entry of the outbox before anybody can know it for a duplicate. An honest client sends each thing to
/// one partition, and again only where its acknowledgement was lost.
///
/// Known as far as memory goes: nothing is accepted or charged by it, and where it is forgotten more is sent on, which is
/// then a duplicate where it belongs.
package struct ForwardLimit: Sendable {
  /// The most records of one ad or request and one kind, but where a kind can truly come more often.
  package static let ofOneMaximum = 4
  /// The most that is remembered, in each of two generations.
  package static let rememberedMaximum = 10_000

  private struct Thing: Hashable {
    let id: UUIDv7
    let kind: UInt8
  }

  private var current: [Thing: Int] = [:]
  private var previous: [Thing: Int] = [:]
  /// What was sent on since ``begin()``, to take it back.
  private var undoLog: [Thing] = []

  package init() {}

  /// A batch begins.
  package mutating func begin() { undoLog.removeAll(keepingCapacity: true) }

  /// Whether one more is sent on.
  ///
  /// - Parameters:
  ///   - id: of the served ad, or of the request.
  ///   - kind: what it tells of it, as the service numbers that.
  ///   - maximum: how often that may be told.
  package mutating func admit(_ id: UUIDv7, kind: UInt8 = 0, maximum: Int = ofOneMaximum) -> Bool {
    let thing = Thing(id: id, kind: kind)
    let count = current[thing] ?? previous[thing] ?? 0
    guard count < maximum else { return false }
    if current[thing] == nil, current.count >= Self.rememberedMaximum {
      previous = current
      current = [:]
    }
    current[thing] = count + 1
    undoLog.append(thing)
    return true
  }

  /// The batch was not committed: nothing of it was sent on.
  package mutating func revert() {
    for thing in undoLog { if let count = current[thing] ?? previous[thing] { current[thing] = count - 1 } }
    undoLog.removeAll()
  }
}
