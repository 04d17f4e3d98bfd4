/// How many partitions each member of a service is to have: all the same number, or one more. Whoever looks at the same
/// ownership finds the same shares, so that nobody has to be asked.
package struct FairShares: Equatable, Sendable {
  /// By member; their sum is the number of partitions.
  package let shares: [Int32: Int]
  /// By member: the free partitions that are its to take.
  package let gifts: [Int32: [Int32]]

  /// - Parameters:
  ///   - members: all that live, by their numbers.
  ///   - owners: by partition, from 0 on: the member that has it, or nil where nobody does.
  package init(members: Set<Int32>, owners: [Int32?]) {
    var counts = Dictionary(uniqueKeysWithValues: members.map { ($0, 0) })
    for case let owner? in owners where members.contains(owner) { counts[owner, default: 0] += 1 }
    let free = owners.indices.filter { index in owners[index].map { !members.contains($0) } ?? true }.map(Int32.init)
    guard !members.isEmpty else {
      shares = [:]
      gifts = [:]
      return
    }
    // Whoever has the most keeps the one more: as little as possible changes hands.
    let ranked = members.sorted { (counts[$1] ?? 0, $0) < (counts[$0] ?? 0, $1) }
    let (share, rest) = owners.count.quotientAndRemainder(dividingBy: members.count)
    var shares: [Int32: Int] = [:]
    for (rank, member) in ranked.enumerated() { shares[member] = share + (rank < rest ? 1 : 0) }
    var gifts: [Int32: [Int32]] = [:]
    var left = free[...]
    for member in members.sorted() {
      let wanted = max(0, (shares[member] ?? 0) - (counts[member] ?? 0))
      gifts[member] = Array(left.prefix(wanted))
      left = left.dropFirst(wanted)
    }
    self.shares = shares
    self.gifts = gifts
  }
}
