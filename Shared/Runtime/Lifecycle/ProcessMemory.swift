internal import CMalloc

/// How the process keeps memory.
enum ProcessMemory {
  /// Below this size memory comes from the allocator's own pools, which it keeps: 32 MiB, the highest that glibc takes.
  private static let pooledBytesMaximum: Int32 = 32 << 20
  /// What each pool keeps at its end when it is free: what the batches at work take, about.
  private static let keptBytes: Int32 = 16 << 20
  /// Pools. Each keeps what it has had, and threads share them.
  private static let pools: Int32 = 4

  /// Keeps what batches used for the next batches. By default glibc gives their arrays back to the system and takes
  /// them anew, page by page: that was a quarter of the processor time of impression tracking.
  static func keepForBatches() {
    mallopt(M_MMAP_THRESHOLD, pooledBytesMaximum)
    mallopt(M_TRIM_THRESHOLD, keptBytes)
    mallopt(M_ARENA_MAX, pools)
  }

  /// What was taken from the allocator and not given back, in bytes.
  static var bytesInUse: Int {
    let all = mallinfo2()
    return all.uordblks + all.hblkhd
  }
}
