internal import Synchronization

/// A number that only grows. Adding takes one atomic instruction and no lock.
package final class Counter: Sendable {
  private let count = Atomic<UInt64>(0)

  package init() {}

  /// Adds `amount`; a negative one is ignored, for a counter cannot go back.
  package func add(_ amount: Int = 1) {
    guard amount > 0 else { return }
    count.wrappingAdd(UInt64(amount), ordering: .relaxed)
  }

  package var value: UInt64 { count.load(ordering: .relaxed) }
}

/// A number that goes up and down.
package final class Gauge: Sendable {
  private let number = AtomicDouble()

  package init() {}

  package func set(_ value: Double) { number.set(value) }
  package func set(_ value: some BinaryInteger) { number.set(Double(value)) }
  package var value: Double { number.value }
}

/// How often values fell below each of some fixed bounds.
package final class Histogram: Sendable {
  /// Ascending upper bounds.
  package let bounds: [Double]
  /// One per bound and one for what lies above all.
  private let buckets: [Counter]
  private let total = AtomicDouble()

  package init(bounds: [Double]) {
    self.bounds = bounds.sorted()
    buckets = (0...bounds.count).map { _ in Counter() }
  }

  /// Counts `value`; what is no number is ignored.
  package func observe(_ value: Double) {
    guard !value.isNaN else { return }
    var low = 0
    var high = bounds.count
    while low < high {
      let middle = (low + high) / 2
      if value <= bounds[middle] { high = middle } else { low = middle + 1 }
    }
    buckets[low].add()
    total.add(value)
  }

  /// Counts a duration of `milliseconds` in a histogram of seconds.
  package func observe(milliseconds: Int64) { observe(Double(milliseconds) / 1_000) }

  /// The counts up to each bound, the last being all, and the sum of the values.
  package var snapshot: (cumulative: [UInt64], sum: Double) {
    var running: UInt64 = 0
    let cumulative = buckets.map { bucket in
      running &+= bucket.value
      return running
    }
    return (cumulative, total.value)
  }
}

/// A Double in an atomic word.
private final class AtomicDouble: Sendable {
  private let bits = Atomic<UInt64>(0)

  var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

  func add(_ amount: Double) {
    var old = bits.load(ordering: .relaxed)
    while true {
      let new = (Double(bitPattern: old) + amount).bitPattern
      // Each failed round means that another thread's addition succeeded.
      let (exchanged, current) = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
      if exchanged { return }
      old = current
    }
  }
}
