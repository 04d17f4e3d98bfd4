internal import AdCore
internal import Pipeline
internal import Postgres

/// Asks for the history of commits in the round trip in which a partition is taken over.
struct HistoryQuery {
  private let topics: [String]
  private let timelines: Int
  private let finding: Int
  private let lost: Int

  init(
    _ partition: Int32, service: String, topics: [String], _ sql: PipelineStatements,
    in statements: inout StatementBatch
  ) {
    self.topics = topics
    timelines = statements.send(sql: sql.timelines, [])
    finding = statements.send(sql: sql.finding, [service, partition])
    lost = statements.send(sql: sql.lostSequences, [partition, topics])
  }

  func read(
    _ results: StatementBatchResults, ofPartition: String?
  ) throws(PostgresError) -> CommitHistory {
    var history = CommitHistory(timelines: [], ofPartition: ofPartition.flatMap { TimelineID($0) })
    for row in try results.rows(at: timelines) {
      let text: String = try row.decode(0)
      if let id = TimelineID(text) { history.timelines.append(id) }
    }
    history.finding = try results.rows(at: finding).first?.decode(0)
    var ranges: [String: [Range<Int64>]] = [:]
    for row in try results.rows(at: lost) {
      let (first, next): (Int64, Int64) = (try row.decode(1), try row.decode(2))
      ranges[try row.decode(0), default: []].append(first..<max(first, next))
    }
    history.lostSequences = topics.map { ranges[$0] ?? [] }
    return history
  }
}
