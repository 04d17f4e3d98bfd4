/// Ids by the moment at which each is due, the earliest first. What is taken out early stays until then, or until most of
/// what is here is of that kind.
package struct DeadlineQueue: Sendable {
  private struct Entry: Sendable {
    let due: Int64
    let id: UInt64
  }

  /// A binary heap.
  private var heap: [Entry] = []

  package init() {}

  package var count: Int { heap.count }
  /// The earliest moment; nil where nothing waits.
  package var next: Int64? { heap.first?.due }

  package mutating func add(_ id: UInt64, due: Int64) {
    heap.append(Entry(due: due, id: id))
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].due < heap[parent].due else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// Those due at `now`, the earliest first.
  package mutating func takeDue(now: Int64) -> [UInt64] {
    var due: [UInt64] = []
    while let first = heap.first, first.due <= now {
      due.append(first.id)
      removeFirst()
    }
    return due
  }

  /// Keeps those that still wait.
  package mutating func keep(where waits: (UInt64) -> Bool) {
    let kept = heap.filter { waits($0.id) }
    heap = []
    for entry in kept { add(entry.id, due: entry.due) }
  }

  private mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      let left = 2 * parent + 1
      guard left < heap.count else { return }
      let right = left + 1
      let child = right < heap.count && heap[right].due < heap[left].due ? right : left
      guard heap[child].due < heap[parent].due else { return }
      heap.swapAt(child, parent)
      parent = child
    }
  }
}
