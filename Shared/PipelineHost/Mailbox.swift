import Foundation

/// A queue between threads with a waiting taker.
///
/// `@unchecked Sendable` holds because `items` is only touched under the condition's lock.
final class Mailbox<Item: Sendable>: @unchecked Sendable {
  private let condition = NSCondition()
  private var items: [Item] = []

  func put(_ item: Item) {
    condition.lock()
    items.append(item)
    condition.signal()
    condition.unlock()
  }

  /// Everything that is there; waits for something until `deadline`.
  func takeAll(until deadline: Date) -> [Item] {
    condition.lock()
    defer { condition.unlock() }
    while items.isEmpty {
      if !condition.wait(until: deadline) { break }
    }
    defer { items.removeAll(keepingCapacity: true) }
    return items
  }
}
