/// What of a batch lies many in one row, and what in rows of its own.
package enum RowPacks {
  /// Items stay in their order, in packs as among the others.
  ///
  /// - Parameters:
  ///   - sizes: how many lie in one row. Where fewer have a key in common than the least, they stay apart.
  ///   - packed: an item as it is packed; nil for what needs a column that packs do not have.
  ///   - key: what those of one row have in common.
  package static func split<Item, Packed, Key: Hashable>(
    _ items: [Item], sizes: ClosedRange<Int>, as packed: (Item) -> Packed?, by key: (Packed) -> Key
  ) -> (packs: [ArraySlice<Packed>], others: [Item]) {
    let packables = items.map(packed)
    let keys = packables.map { $0.map(key) }
    var groups: [Key: [Packed]] = [:]
    for case (let packable?, let key?) in zip(packables, keys) { groups[key, default: []].append(packable) }
    groups = groups.filter { $0.value.count >= sizes.lowerBound }
    if groups.isEmpty { return ([], items) }
    let packs = groups.values.flatMap { group in
      // Of about one size each: none is too small to gain anything.
      let count = (group.count + sizes.upperBound - 1) / sizes.upperBound
      return (0..<count).map { group[(group.count * $0 / count)..<(group.count * ($0 + 1) / count)] }
    }
    return (packs, zip(items, keys).filter { $1.flatMap { groups[$0] } == nil }.map(\.0))
  }
}
