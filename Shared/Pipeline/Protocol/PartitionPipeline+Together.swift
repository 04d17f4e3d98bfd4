/// Several partitions' batches in one transaction: what a worker has at hand waits for the disk once.
extension PartitionPipeline {
  package typealias Member = (pipeline: PartitionPipeline, batch: InputBatch<Service.Event>)

  private struct Decided {
    let index: Int
    let batch: DecidedBatch<Service>
  }

  /// Decides and commits a batch of each of several partitions, then publishes what they made.
  ///
  /// Those of one transaction are committed all or none. Where the database answers that it cannot be (it refuses a row, one of
  /// the partitions is somebody else's by now), none was, and each is committed by itself: whose trouble it is shows
  /// then, and is nobody else's. A database that is away leaves in doubt what was committed, of all of them.
  ///
  /// - Returns: what ``process(_:)`` of each would return or throw.
  package static func process(_ members: [Member], in store: Store) -> [Result<BatchSummary, PipelineError>] {
    guard members.count > 1 else { return members.map { $0.pipeline.result(of: $0.batch) } }
    var results = members.map { _ in Result<BatchSummary, PipelineError>.success(BatchSummary()) }
    var together: [Decided] = []
    // Whose transactions lock rows that other partitions' lock, too: two of them in one could wait for two in another.
    var sharing: [Decided] = []
    for (index, member) in members.enumerated() {
      do throws(PipelineError) {
        let batch = try member.pipeline.checked(member.batch)
        guard let decided = try member.pipeline.decide(batch.records[...], of: batch, endsBatch: true) else { continue }
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
    let failure: PipelineError?
    do throws(PipelineError) {
      switch try store.commit(decided.map(\.batch.commit)) {
      case .success(let committed):
        for (decided, committed) in zip(decided, committed) {
          var summary = BatchSummary()
          members[decided.index].pipeline.finish(decided.batch, committed, summary: &summary)
          results[decided.index] = .success(summary)
        }
        return
      case .failure:
        failure = nil
      }
    } catch {
      failure = error
    }
    for decided in decided {
      let member = members[decided.index]
      do throws(PipelineError) {
        try member.pipeline.takeBack(decided.batch)
        results[decided.index] =
          if let failure, failure.kind == .databaseUnavailable {
            .failure(failure)
          } else {
            member.pipeline.result(of: member.batch)
          }
      } catch {
        results[decided.index] = .failure(error)
      }
    }
  }
}
