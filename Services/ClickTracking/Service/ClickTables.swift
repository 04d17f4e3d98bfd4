import AdCore
import AdEvents
import ClickTrackingCore
import Pipeline
import Postgres
import Runtime

/// Click tracking's own tables.
struct ClickTables: ServiceTables {
  typealias Service = ClickTracking

  let windows: Windows
  let consumers = ["billing"]

  func load(
    _ partition: Int32, now: Timestamp, from connection: PostgresConnection
  ) throws(PostgresError) -> ClickDecider {
    var parked: [ServeID: Timestamp] = [:]
    for serve in try connection.run(ReadParkedServes(partition: partition)) { parked[serve.id] = serve.expiresAt }
    return ClickDecider(windows: windows, parked: parked)
  }

  /// All questions in one round trip.
  func look(
    up query: ClickQuery, partition: Int32, in connection: PostgresConnection
  ) throws(PostgresError) -> ClickKnowledge {
    var pipeline = PostgresPipeline()
    let clicks = query.identities.filter { $0.kind == .click }
    let stopped = query.identities.subtracting(clicks)
    let findClicks = clicks.isEmpty ? nil : pipeline.send(FindClicks(identities: Array(clicks)))
    let findStopped = stopped.isEmpty ? nil : pipeline.send(FindStoppedActions(identities: Array(stopped)))
    let findServes = query.serves.isEmpty ? nil : pipeline.send(FindServes(ids: Array(query.serves)))
    let findImpressions = query.serves.isEmpty ? nil : pipeline.send(FindImpressions(ids: Array(query.serves)))
    let findParked = query.parked.isEmpty ? nil : pipeline.send(FindParkedClicks(ids: Array(query.parked)))
    let findCounted =
      query.clients.isEmpty ? nil : pipeline.send(FindCountedClicks(clients: query.clients, windows: windows))
    let results = try connection.run(pipeline)

    var known = ClickKnowledge()
    if let findClicks { known.identities.formUnion(try results.rows(findClicks)) }
    if let findStopped { known.identities.formUnion(try results.rows(findStopped)) }
    for serve in query.serves { known.serves[serve] = ServeClicks() }
    if let findServes {
      for found in try results.rows(findServes) {
        known.serves[found.id]?.decidedCount = found.decidedCount
        known.serves[found.id]?.hasBillable = found.hasBillable
      }
    }
    if let findImpressions {
      for found in try results.rows(findImpressions) { known.serves[found.serveID]?.shownAt = found.shownAt }
    }
    if let findParked {
      for click in try results.rows(findParked) { known.serves[click.terms.serveID]?.parked.append(click) }
    }
    if let findCounted {
      for found in try results.rows(findCounted) { known.counted[found.client, default: []].append(found.time) }
    }
    return known
  }

  func rows(_ batch: CommitBatch<ClickTracking>) -> [TableRows] {
    [ImpressionRows.rows(batch), ClickRows.rows(batch), ParkedRows.rows(batch), StoppedActionRows.rows(batch)]
  }

  func finish(
    _ batch: CommitBatch<ClickTracking>, with pipeline: inout PostgresPipeline
  ) -> CommitReader {
    if !batch.effects.released.isEmpty { _ = pipeline.send(RemoveParkedClicks(serves: batch.effects.released)) }
    if !batch.effects.counts.isEmpty {
      _ = pipeline.send(AddMinuteCounts(partition: batch.partition, counts: batch.effects.counts))
    }
    return { (_: PostgresPipelineResults) throws(PostgresError) -> CommitResult in CommitResult() }
  }

  func messages(
    partition: Int32, output: Int, from sequence: Int64, limit: Int, in connection: PostgresConnection
  ) throws(PostgresError) -> [NumberedMessage] {
    try rows(partition: partition, from: sequence, limit: limit, in: connection) { from throws(PostgresError) in
      try connection.run(ReadClicks(partition: partition, from: from, limit: limit))
    }.map {
      NumberedMessage(
        output: output, sequence: $0.sequence, message: ClickTracking.message($0.accepted, sequence: $0.sequence))
    }
  }
}
