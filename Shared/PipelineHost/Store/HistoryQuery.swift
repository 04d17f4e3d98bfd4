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
    var numbers: [(number: Int32, id: TimelineID)] = []
    for row in try results.rows(at: timelines) {
      let text: String = try row.decode(0)
      if let id = TimelineID(text) { numbers.append((try row.decode(1), id)) }
    }
    history.timelines = numbers.map(\.id)
    history.finding = try results.rows(at: finding).first?.decode(0)
    var ranges: [String: [Range<Int64>]] = [:]
    var ends: [String: [TimelineID: Int64]] = [:]
    for row in try results.rows(at: lost) {
      let topic: String = try row.decode(0)
      let (first, next, begun): (Int64, Int64, Int32) = (try row.decode(1), try row.decode(2), try row.decode(3))
      ranges[topic, default: []].append(first..<max(first, next))
      for timeline in numbers where timeline.number < begun {
        ends[topic, default: [:]][timeline.id] = min(first, ends[topic]?[timeline.id] ?? first)
      }
    }
    history.lostSequences = topics.map { ranges[$0] ?? [] }
    history.ends = topics.map { ends[$0] ?? [:] }
    return history
  }
}
