/// The ads that a kind of targeting lets through: a set of those for everybody, and lists of those that name a value. So
/// memory grows with the targets there are, not with values times ads.
struct Dimension<Value: Hashable & Sendable>: Sendable {
  private let everybody: AdSet
  private let lists: Positions<Value>

  /// - Parameter targets: what each position's ad is for; an empty target means everybody.
  init(_ targets: [Set<Value>]) {
    everybody = AdSet(capacity: targets.count) { targets[$0].isEmpty }
    lists = Positions(targets)
  }

  /// The ads for `value`.
  subscript(value: Value) -> AdSet {
    var set = everybody
    set.insert(lists[value])
    return set
  }

  /// The ads for at least one of `values`, or for everybody.
  func anyOf(_ values: some Sequence<Value>) -> AdSet {
    var set = everybody
    for value in values { set.insert(lists[value]) }
    return set
  }

  /// Which of `values` some ad is for, by numbers of their own: to another value nobody targets anything.
  func known(_ values: [Value]) -> ValueSet {
    var known = ValueSet()
    for value in values {
      if let number = lists.number(of: value) { known.insert(number) }
    }
    return known
  }
}

/// A set of values by their numbers. Two of them lie in the set itself, so that nearly all sets are made and compared
/// without a look elsewhere.
struct ValueSet: Hashable, Sendable {
  /// The least one, plus one; 0 for none.
  private var first: UInt32 = 0
  private var second: UInt32 = 0
  /// The others, ascending.
  private var more: [UInt32] = []

  mutating func insert(_ number: Int32) {
    var new = UInt32(number) + 1
    if new == first || new == second || more.contains(new) { return }
    if first == 0 || new < first { swap(&new, &first) }
    if second == 0 || new < second { swap(&new, &second) }
    if new != 0 { more.insert(new, at: more.firstIndex { $0 > new } ?? more.endIndex) }
  }
}

/// For each value the positions of the ads that have it, ascending.
struct Positions<Value: Hashable & Sendable>: Sendable {
  private var numbers: [Value: Int32] = [:]
  private var lists: [[Int32]] = []

  init(_ values: [some Sequence<Value>]) {
    for (position, values) in values.enumerated() {
      for value in values { add(Int32(truncatingIfNeeded: position), to: value) }
    }
  }

  private mutating func add(_ position: Int32, to value: Value) {
    if let number = numbers[value] {
      // An ad that names a value twice has it once.
      if lists[Int(number)].last != position { lists[Int(number)].append(position) }
    } else {
      numbers[value] = Int32(truncatingIfNeeded: lists.count)
      lists.append([position])
    }
  }

  subscript(value: Value) -> [Int32] { numbers[value].map { lists[Int($0)] } ?? [] }

  func number(of value: Value) -> Int32? { numbers[value] }
}
