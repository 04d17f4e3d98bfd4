extension Int64 {
  /// What each of so many partitions takes of a cap that is the network's, rounded up.
  package func part(of partitionCount: Int32) -> Int64 {
    let count = Int64(Swift.max(1, partitionCount))
    return self / count + (self % count == 0 ? 0 : 1)
  }
}
