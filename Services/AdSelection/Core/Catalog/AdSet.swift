/// A set of ads by their positions in a ``CatalogSnapshot``, one bit each: intersections of whole catalogues cost a few
/// instructions for 64 ads.
struct AdSet: Hashable, Sendable {
  private(set) var words: [UInt64]

  /// The empty set of positions below `capacity`.
  init(capacity: Int) {
    words = Array(repeating: 0, count: (capacity + 63) / 64)
  }

  /// All positions below `capacity`.
  init(allBelow capacity: Int) {
    self.init(capacity: capacity)
    for position in 0..<capacity { insert(position) }
  }

  mutating func insert(_ position: Int) { words[position / 64] |= 1 << UInt64(position % 64) }
  mutating func remove(_ position: Int) { words[position / 64] &= ~(1 << UInt64(position % 64)) }
  func contains(_ position: Int) -> Bool { words[position / 64] >> UInt64(position % 64) & 1 == 1 }

  var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

  mutating func formUnion(_ other: AdSet) {
    for index in words.indices { words[index] |= other.words[index] }
  }

  /// Removes what is not in `other`; returns how many that were.
  mutating func formIntersection(_ other: AdSet) -> Int {
    var removed = 0
    for index in words.indices {
      removed += (words[index] & ~other.words[index]).nonzeroBitCount
      words[index] &= other.words[index]
    }
    return removed
  }

  /// Removes what is in `other`; returns how many that were.
  mutating func subtract(_ other: AdSet) -> Int {
    var removed = 0
    for index in words.indices {
      removed += (words[index] & other.words[index]).nonzeroBitCount
      words[index] &= ~other.words[index]
    }
    return removed
  }

  /// Calls `body` with each position, ascending, until it returns false.
  func visit(_ body: (Int) -> Bool) {
    for (index, word) in words.enumerated() {
      var rest = word
      while rest != 0 {
        guard body(index * 64 + rest.trailingZeroBitCount) else { return }
        rest &= rest - 1
      }
    }
  }
}
