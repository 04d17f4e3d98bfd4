internal import AdCore

/// What is to be done for campaigns at moments to come, the soonest first.
struct Deadlines: Hashable, Sendable {
  struct Entry: Hashable, Comparable, Sendable {
    let at: Timestamp
    let campaign: CampaignID

    static func < (left: Entry, right: Entry) -> Bool { left.at < right.at }
  }

  /// A binary heap: each entry is no later than the two at twice its place.
  private var heap: [Entry] = []

  var first: Entry? { heap.first }

  func isDue(at now: Timestamp) -> Bool { heap.first.map { $0.at <= now } ?? false }

  mutating func add(_ campaign: CampaignID, at moment: Timestamp) {
    heap.append(Entry(at: moment, campaign: campaign))
    var child = heap.count - 1
    while child > 0, heap[child] < heap[(child - 1) / 2] {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child] < heap[least] {
        least = child
      }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }

  /// Takes out what has come by `now`.
  mutating func takeDue(at now: Timestamp) -> [CampaignID] {
    var due: [CampaignID] = []
    while let first, first.at <= now {
      due.append(first.campaign)
      removeFirst()
    }
    return due
  }
}
