/// How many partitions each member of a service is to have: all the same number, or one more. Whoever sees the same
/// ownership finds the same quotas, so that nobody has to be asked.
package struct FairQuotas: Equatable, Sendable {
  /// By member; their sum is the number of partitions.
  package let quotas: [Int32: Int]
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
      quotas = [:]
      gifts = [:]
      return
    }
    // Whoever has the most keeps the one more: as little as possible changes hands.
    let ranked = members.sorted { (counts[$1] ?? 0, $0) < (counts[$0] ?? 0, $1) }
    let (quota, rest) = owners.count.quotientAndRemainder(dividingBy: members.count)
    var quotas: [Int32: Int] = [:]
    for (rank, member) in ranked.enumerated() { quotas[member] = quota + (rank < rest ? 1 : 0) }
    var gifts: [Int32: [Int32]] = [:]
    var left = free[...]
    for member in members.sorted() {
      let wanted = max(0, (quotas[member] ?? 0) - (counts[member] ?? 0))
      gifts[member] = Array(left.prefix(wanted))
      left = left.dropFirst(wanted)
    }
    self.quotas = quotas
    self.gifts = gifts
  }
}
