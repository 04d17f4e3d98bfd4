/// A set of ads by their positions in an ``AdIndex``, one bit each: a rule is asked of 64 ads in one instruction.
struct AdSet: Hashable, Sendable {
  private(set) var words: [UInt64]

  /// The empty set of positions below `capacity`.
  init(capacity: Int) {
    words = Array(repeating: 0, count: (capacity + 63) / 64)
  }

  /// All positions below `capacity`.
  init(allBelow capacity: Int) {
    words = Array(repeating: .max, count: (capacity + 63) / 64)
    if capacity % 64 != 0 { words[words.count - 1] = 1 << UInt64(capacity % 64) - 1 }
  }

  /// The positions below `capacity` for which `isMember` holds.
  init(capacity: Int, where isMember: (Int) -> Bool) {
    self.init(capacity: capacity)
    for position in 0..<capacity where isMember(position) { insert(position) }
  }

  mutating func insert(_ position: Int) { words[position / 64] |= 1 << UInt64(position % 64) }
  mutating func remove(_ position: Int) { words[position / 64] &= ~(1 << UInt64(position % 64)) }
  func contains(_ position: Int) -> Bool { words[position / 64] >> UInt64(position % 64) & 1 == 1 }

  mutating func set(_ position: Int, to isMember: Bool) {
    if isMember { insert(position) } else { remove(position) }
  }

  mutating func insert(_ positions: [Int32]) { for position in positions { insert(Int(position)) } }
  mutating func remove(_ positions: [Int32]) { for position in positions { remove(Int(position)) } }

  mutating func formIntersection(_ other: AdSet) {
    for index in words.indices { words[index] &= other.words[index] }
  }

  /// How many positions below `limit` are in it, and how many from there on.
  func counts(dividedAt limit: Int) -> (below: Int32, above: Int32) {
    let divided = min(limit / 64, words.count)
    var (below, above) = (AdSet.count(words[..<divided]), AdSet.count(words[divided...]))
    if divided < words.count {
      let low = Int32((words[divided] & AdSet.mask(below: limit % 64)).nonzeroBitCount)
      (below, above) = (below + low, above - low)
    }
    return (below, above)
  }

  private static func count(_ words: ArraySlice<UInt64>) -> Int32 {
    words.reduce(0) { $0 + Int32($1.nonzeroBitCount) }
  }

  /// What it takes in memory.
  var bytes: Int { words.count * 8 }

  /// A bit for each word, set where the word has one.
  var summary: [UInt64] {
    var summary = AdSet(capacity: words.count)
    for (index, word) in words.enumerated() where word != 0 { summary.insert(index) }
    return summary.words
  }

  /// The bits below `count`; all of a word for 64 or more, none for 0 or less.
  static func mask(below count: Int) -> UInt64 {
    count >= 64 ? .max : count <= 0 ? 0 : 1 << UInt64(count) - 1
  }
}

extension UInt64 {
  /// The position of the `number`th bit that is set, from 0; there are more than that.
  func position(ofBit number: Int) -> Int {
    var rest = self
    for _ in 0..<number { rest &= rest - 1 }
    return rest.trailingZeroBitCount
  }
}
