internal import Synchronization

/// A bound that the partitions of a process share, of whatever is counted: bytes, keys, requests. Each may hold an equal
/// part of it, so that those that came first leave room for the others; together they hold no more than ``maximum``,
/// however many they are.
package final class SharedBound: Sendable {
  package let maximum: Int
  private let left: Atomic<Int>
  private let holders = Atomic(0)

  /// - Parameter maximum: at least 1.
  package init(_ maximum: Int) {
    self.maximum = max(1, maximum)
    left = Atomic(max(1, maximum))
  }

  /// One more partition holds something, as long as what it gets here lives.
  package func quota() -> Quota { Quota(of: self) }

  /// What all hold now.
  var held: Int { maximum - left.load(ordering: .relaxed) }

  /// What one partition holds of it. Given back at its end.
  package final class Quota: Sendable {
    private let bound: SharedBound
    private let taken = Atomic(0)

    fileprivate init(of bound: SharedBound) {
      self.bound = bound
      bound.holders.add(1, ordering: .relaxed)
    }

    deinit {
      give(held)
      bound.holders.subtract(1, ordering: .relaxed)
    }

    package var held: Int { taken.load(ordering: .relaxed) }

    /// The most that it may hold now: less, once others share the bound; at least 1.
    package var part: Int { max(1, bound.maximum / max(1, bound.holders.load(ordering: .relaxed))) }

    /// Takes `amount` more.
    ///
    /// - Returns: false where that is more than its part, or than is left: then nothing was taken.
    package func take(_ amount: Int) -> Bool {
      guard amount <= part - held else { return false }
      guard bound.left.subtract(amount, ordering: .relaxed).newValue >= 0 else {
        bound.left.add(amount, ordering: .relaxed)
        return false
      }
      taken.add(amount, ordering: .relaxed)
      return true
    }

    /// Gives back `amount` of what it holds.
    package func give(_ amount: Int) {
      taken.subtract(amount, ordering: .relaxed)
      bound.left.add(amount, ordering: .relaxed)
    }
  }
}
