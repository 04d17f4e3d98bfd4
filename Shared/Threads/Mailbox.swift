/// A queue between threads with a waiting taker.
package final class Mailbox<Item: Sendable>: Sendable {
  @usableFromInline
  let items = Monitor<[Item]>([])

  package init() {}

  /// Adds an item, and wakes the taker.
  @inlinable
  package func put(_ item: Item) { items.update { $0.append(item) } }

  /// Adds items together: the taker finds all of them.
  @inlinable
  package func put(contentsOf added: [Item]) {
    if !added.isEmpty { items.update { $0 += added } }
  }

  /// Everything that is there; waits for something, at most so long.
  @inlinable
  package func takeAll(timeoutMilliseconds: Int) -> [Item] {
    let taken = items.waitForResult(timeoutMilliseconds: timeoutMilliseconds) { items -> [Item]? in
      if items.isEmpty { return nil }
      defer { items.removeAll(keepingCapacity: true) }
      return items
    }
    return taken ?? []
  }
}
