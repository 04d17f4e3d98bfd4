/// Several partitions' batches in one transaction: what a worker has at hand waits for the disk once.
extension PartitionPipeline {
  package typealias Member = (pipeline: PartitionPipeline, batch: InputBatch<Service.Event>)

  private struct Decided {
    let index: Int
    let batch: DecidedBatch<Service>
  }

  /// Decides and commits a batch of each of several partitions, then publishes what they made.
  ///
  /// Those of one transaction are committed all or none. What the database refuses together is committed batch by batch: whose
  /// trouble it is shows then, and is nobody else's; so is what has to be decided in parts. Any other failure leaves in
  /// doubt what was committed, of all of them.
  ///
  /// - Returns: what ``process(_:)`` of each would return or throw.
  package static func process(_ members: [Member], in store: Store) -> [Result<BatchSummary, PipelineError>] {
    guard members.count > 1 else { return members.map { $0.pipeline.result(of: $0.batch) } }
    var results = members.map { _ in Result<BatchSummary, PipelineError>.success(BatchSummary()) }
    var together: [Decided] = []
    // Whose transactions lock rows that other partitions' lock, too: two of them in one could wait for two in another.
    var sharing: [Decided] = []
    var room = offsetsMaximum
    for (index, member) in members.enumerated() {
      guard let offsets = member.pipeline.offsetCount(ofWhole: member.batch), offsets <= room else {
        results[index] = member.pipeline.result(of: member.batch)
        continue
      }
      room -= offsets
      do throws(PipelineError) {
        let batch = try member.pipeline.checked(member.batch)
        let decided = try member.pipeline.decide(batch.records[...], of: batch, end: batch.nextOffsets)
        guard let decided else { continue }
        let isSharing = Service.changesSharedRows(decided.commit.effects)
        if isSharing { sharing.append(Decided(index: index, batch: decided)) }
        if !isSharing { together.append(Decided(index: index, batch: decided)) }
      } catch {
        results[index] = .failure(error)
      }
    }
    // One of them last, so that nobody else waits for what it locks longer than for its commit.
    for decided in [together + sharing.prefix(1)] + sharing.dropFirst().map({ [$0] }) where !decided.isEmpty {
      commit(decided, members, in: store, results: &results)
    }
    return results
  }

  private func result(of batch: InputBatch<Service.Event>) -> Result<BatchSummary, PipelineError> {
    Result { () throws(PipelineError) in try process(batch) }
  }

  private static func commit(
    _ decided: [Decided], _ members: [Member], in store: Store,
    results: inout [Result<BatchSummary, PipelineError>]
  ) {
    let result: Result<[CommitResult], RowRefusal>
    do throws(PipelineError) { result = try store.commit(decided.map(\.batch.commit)) } catch {
      for decided in decided {
        results[decided.index] = .failure(error)
        // It is opened again in any case.
        try? members[decided.index].pipeline.takeBack(decided.batch)
      }
      return
    }
    for (index, decided) in decided.enumerated() {
      let member = members[decided.index]
      results[decided.index] = Result { () throws(PipelineError) in
        guard case .success(let committed) = result else {
          try member.pipeline.takeBack(decided.batch)
          return try member.pipeline.process(member.batch)
        }
        var summary = BatchSummary()
        member.pipeline.finish(decided.batch, committed[index], summary: &summary)
        return summary
      }
    }
  }
}
