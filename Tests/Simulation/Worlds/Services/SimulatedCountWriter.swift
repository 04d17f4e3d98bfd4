import Pipeline

/// Writes what an instance's partitions have counted, when the scheduler lets it: the twin of the thread that does so.
final class SimulatedCountWriter<Tables: SimulatedTables> {
  typealias Flush = CountFlush<Tables.Service.CountKey, Tables.Service.CountSums>

  private let books: Books<Tables>
  private let context: InstanceContext
  private var pending: [Flush] = []
  private var server: Int

  init(books: Books<Tables>, context: InstanceContext) {
    self.books = books
    self.context = context
    server = context.world.server
  }

  func put(_ flush: Flush) { pending.append(flush) }

  /// Writes what is there, each partition's in its order.
  ///
  /// - Returns: what ended.
  func work() -> [CountReport] {
    var reports: [CountReport] = []
    var left: [Flush] = []
    for flush in pending {
      guard !context.isDead, !left.contains(where: { $0.partition == flush.partition }),
        let isWritten = try? write(flush)
      else {
        left.append(flush)
        continue
      }
      if !isWritten { context.world.coverage.note(.countsRefused) }
      reports.append(
        CountReport(partition: flush.partition, epoch: flush.epoch, upTo: flush.upTo, isRefused: !isWritten))
    }
    pending = left
    return reports
  }

  /// One transaction; either way of its answer may fail.
  private func write(_ flush: Flush) throws(PipelineError) -> Bool {
    try context.checkServer(&server)
    let fate = try context.fate(of: .flush)
    // Counts of batches that were lost are not written.
    let row = books.row(flush.partition)
    if flush.epoch != row.epoch || flush.upTo > row.batchNumber {
      if flush.upTo > row.batchNumber { context.world.coverage.note(.countsOfLostBatches) }
      if context.world.sabotage != .countLost { return false }
    }
    if case .stored = flush.content, books.tables.counts.uncounted(before: flush.upTo, partition: flush.partition) > 0 {
      context.world.coverage.note(.countedAgain)
    }
    let isWritten = books.tables.counts.write(flush, sabotage: context.world.sabotage)
    switch fate {
    case .fine, .crashBefore, .lostBefore:
      return isWritten
    case .crashAfter:
      context.world.coverage.note(.crashAfterFlush)
      context.isDead = true
      throw .databaseUnavailable("crashed")
    case .lostAfter:
      context.world.coverage.note(.flushAnswerLost)
      throw .databaseUnavailable("the connection was lost after a flush")
    }
  }
}
