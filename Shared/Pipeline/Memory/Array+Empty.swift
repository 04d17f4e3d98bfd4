extension Array {
  /// How much an empty one keeps, in bytes.
  package static var keptBytesMaximum: Int { 4_096 }

  /// Empties what a batch has noted in case that it is taken back, for the next one. What a large batch needed is given
  /// back: every partition of a process has one, and most wait for their next batch.
  package mutating func empty() {
    removeAll(keepingCapacity: capacity * MemoryLayout<Element>.stride <= Self.keptBytesMaximum)
  }
}
