/// What must reach the broker, in order, until it says that it did. A bounded queue as a value: sending is its owner's.
///
/// A record has a ticket, and is waiting, then sent, then finished. When a producer is lost, everything sent and not
/// finished waits again, in its old order, for the next one.
package struct DeliveryQueue<Element> {
  private struct Entry {
    /// Nil once it is finished.
    var element: Element?
    let bytes: Int
  }

  /// The most records that are not finished.
  package let recordsMaximum: Int
  /// The most bytes of them.
  package let bytesMaximum: Int
  private var entries: [Entry] = []
  /// The entries before this index are finished and gone; the array is compacted now and then.
  private var head = 0
  private var headTicket: UInt64 = 0
  private var nextTicket: UInt64 = 0
  private var unfinishedBytes = 0
  private var unfinishedCount = 0

  package init(recordsMaximum: Int, bytesMaximum: Int) {
    self.recordsMaximum = recordsMaximum
    self.bytesMaximum = bytesMaximum
  }

  /// Records not finished.
  package var count: Int { unfinishedCount }

  /// True when there is something to send.
  package var hasWaiting: Bool { index(of: nextTicket) < entries.count }

  /// Takes a record of `bytes` bytes; false when the queue is full. The queue never drops what it has taken.
  package mutating func add(_ element: Element, bytes: Int) -> Bool {
    guard unfinishedCount < recordsMaximum, bytes <= bytesMaximum - unfinishedBytes else { return false }
    entries.append(Entry(element: element, bytes: bytes))
    unfinishedBytes += bytes
    unfinishedCount += 1
    return true
  }

  /// The next record to send, without taking it.
  package mutating func nextWaiting() -> (ticket: UInt64, element: Element)? {
    while hasWaiting {
      if let element = entries[index(of: nextTicket)].element { return (nextTicket, element) }
      // Finished by a report of an earlier producer.
      nextTicket += 1
    }
    return nil
  }

  /// The record of this ticket, which `nextWaiting` gave, was handed to the producer.
  package mutating func sent(_ ticket: UInt64) {
    if ticket == nextTicket { nextTicket += 1 }
    // Its report may have been faster than this call.
    dropFinished()
  }

  /// The record is in the log, or never will be; returns it once.
  package mutating func finish(_ ticket: UInt64) -> Element? {
    guard ticket >= headTicket, index(of: ticket) < entries.count else { return nil }
    let index = index(of: ticket)
    guard let element = entries[index].element else { return nil }
    entries[index].element = nil
    unfinishedBytes -= entries[index].bytes
    unfinishedCount -= 1
    dropFinished()
    return element
  }

  /// The producer is lost: what it had and did not finish waits again.
  package mutating func producerLost() { nextTicket = headTicket }

  private func index(of ticket: UInt64) -> Int { head + Int(clamping: ticket - headTicket) }

  private mutating func dropFinished() {
    while head < entries.count, entries[head].element == nil, headTicket < nextTicket {
      head += 1
      headTicket += 1
    }
    // Half of the array gone pays for moving the other half.
    if head > 64, head > entries.count / 2 {
      entries.removeFirst(head)
      head = 0
    }
  }
}
