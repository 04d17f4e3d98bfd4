internal import AdCore
internal import AdEvents
internal import ImpressionTrackingCore
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Impression tracking's own tables.
struct ImpressionTables: ServiceTables {
  typealias Service = ImpressionTracking

  let windows: Windows
  /// Shared by all partitions.
  private let memory = ImpressionMemory()
  let consumers = ["click_tracking", "billing"]

  init(windows: Windows) { self.windows = windows }

  func load(
    _ partition: Int32, now: Timestamp, from connection: PostgresConnection
  ) throws(PostgresError) -> ImpressionDecider {
    // Ids that were taken before are asked from the tables when a doubt comes up; where no key would tell, always.
    ImpressionDecider(windows: windows, now: now, memory: memory)
  }

  func lookUp(
    _ query: ImpressionQuery, partition: Int32, in connection: PostgresConnection
  ) throws(PostgresError) -> ImpressionKnowledge {
    var known = ImpressionKnowledge()
    let asked = query.ids
    if !asked.impressions.isEmpty {
      known.ids.impressions = Set(try connection.run(FindImpressions(partition: partition, ids: asked.impressions)))
    }
    for (kind, ids) in asked.deliveries {
      known.ids.deliveries[kind] = Set(try connection.run(FindDeliveries(partition: partition, ids: ids, kind: kind)))
    }
    for (error, ids) in asked.failures {
      known.ids.failures[error] = Set(try connection.run(FindFailures(partition: partition, ids: ids, error: error)))
    }
    if !query.keys.isEmpty {
      for found in try connection.run(FindAppKeys(hashes: Array(query.keys))) {
        known.keys[found.key.keyHash] = found.key
      }
    }
    return known
  }

  func rows(_ batch: CommitBatch<ImpressionTracking>, terms: TermsBook) -> [TableRows] {
    let (packs, others) = DeliveryPacks.split(batch.effects.deliveries)
    return [
      ImpressionRows.rows(batch, terms: terms), DeliveryRows.rows(others, of: batch, terms: terms),
      DeliveryPacks.rows(packs, of: batch, terms: terms), FailureRows.rows(batch),
    ]
  }

  func countRows(_ counts: [ImpressionMinuteKey: Int64], partition: Int32) -> TableRows {
    ImpressionCounts.rows(counts, partition: partition)
  }

  static let countAgain = [ImpressionCounts.countAgain]

  func messages(
    partition: Int32, output: Int, from sequence: Int64, limit: Int, in connection: PostgresConnection
  ) throws(PostgresError) -> [NumberedMessage] {
    let rows = try rows(partition: partition, from: sequence, limit: limit, in: connection) {
      stored throws(PostgresError) in
      try connection.run(ReadImpressions(stored: stored))
    }
    return ImpressionTracking.messages(rows.lazy.map { ($0.sequence, $0.accepted) })
  }
}

extension ImpressionTables {
  /// The tables that are cut by day, kept for as long as `retention` says.
  static func days(_ retention: Retention) -> DayTables {
    DayTables(
      [
        "impression_tracking.impression_row", "impression_tracking.delivery_row", "impression_tracking.delivery_pack",
        "impression_tracking.failure",
      ],
      clientTables: ["impression_tracking.impression_row"],
      counts: CountTables("impression_tracking", retention: retention),
      retention: retention)
  }
}
