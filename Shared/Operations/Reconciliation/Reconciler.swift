internal import AdCore
package import Postgres
internal import Runtime

/// Compares all accounts in one snapshot of the database. Blocks the caller.
package struct Reconciler: Sendable {
  private let pool: PostgresPool

  package init(_ pool: PostgresPool) { self.pool = pool }

  /// - Parameter tally: what the devices know to have happened, where somebody counted it.
  package func reconcile(tally: DeviceAccount? = nil) throws(PostgresError) -> Reconciliation {
    try pool.snapshot { connection throws(PostgresError) in
      try ReconciliationStatement.choosePlans(connection)
      var checks: [ReconciliationCheck] = []
      for statement in PipelineChecks.all + MoneyChecks.all {
        checks.append(try statement.check(in: connection))
      }
      let everything = ServeRange.everything.parameters
      for statement in TrafficChecks.ofServes { checks.append(try statement.check(everything, in: connection)) }
      for statement in TrafficChecks.all { checks.append(try statement.check(in: connection)) }
      checks.append(try TrafficChecks.finals.check(everything, in: connection))
      let finality = try finality(connection)
      if let tally { checks += try tally.checks(in: connection) }
      return Reconciliation(
        checks: checks, notConsumed: try notConsumed(connection),
        parked: try count("SELECT count(*) FROM click_tracking.parked", connection),
        waiting: try count("SELECT count(*) FROM billing.waiting", connection),
        suspense: try count("SELECT count(*) FROM billing.suspense", connection),
        reserved: try reserved(connection), finality: finality)
    }
  }

  private func count(_ sql: String, _ connection: PostgresConnection) throws(PostgresError) -> Int64 {
    try connection.query(sql).first?.decode(0) ?? 0
  }

  private func reserved(
    _ connection: PostgresConnection
  ) throws(PostgresError) -> [(currency: String, nanos: Int128)] {
    let sql = """
      SELECT currency, sum(amount - charged) FROM billing.allotment WHERE state < \(AllotmentState.ended.number) GROUP BY currency ORDER BY currency
      """
    var reserved: [(currency: String, nanos: Int128)] = []
    for row in try connection.query(sql) { reserved.append((currency: try row.decode(0), nanos: try row.decode(1))) }
    return reserved
  }

  /// Producer and consumer of each topic with sequences.
  private func notConsumed(_ connection: PostgresConnection) throws(PostgresError) -> [NotConsumed] {
    let edges = [
      ("ads.impressions.accepted", "impression_tracking", "click_tracking"),
      ("ads.impressions.accepted", "impression_tracking", "billing"),
      ("ads.clicks.accepted", "click_tracking", "billing"), ("ads.usage", "ad_selection", "billing"),
      ("ads.budgets", "billing", "ad_selection"),
    ]
    var list: [NotConsumed] = []
    for (topic, producer, consumer) in edges {
      let sql = """
        SELECT coalesce(sum(o.next_sequence - 1 - coalesce(i.consumed_sequence, 0)), 0)::bigint FROM \(producer).output o
        LEFT JOIN \(consumer).input i ON i.partition = o.partition AND i.topic = o.topic WHERE o.topic = $1
        """
      let sequences: Int64 = try connection.query(sql, [topic]).first?.decode(0) ?? 0
      list.append(NotConsumed(topic: topic, consumer: consumer, sequences: sequences))
    }
    return list
  }

  /// A serve is final once the watermark of impressions has passed the last moment at which one could arrive, by the
  /// windows that were in force for it. Where no tracker has noted its windows nothing is final, and nobody knows when.
  private func finality(_ connection: PostgresConnection) throws(PostgresError) -> Finality {
    let sql = """
      WITH serves AS (
        SELECT d.serve_id, d.expires_at + w.late AS final_at,
          coalesce(d.expires_at + w.late <= p.watermark, false) AS is_final,
          EXISTS (SELECT FROM impression_tracking.impression i WHERE i.serve_id = d.serve_id) AS is_seen
        FROM ad_selection.decision d LEFT JOIN impression_tracking.partition p USING (partition)
        LEFT JOIN impression_tracking.late_window w
          ON w.partition = d.partition AND d.serve_id >= w.first_id AND d.serve_id < w.next_id
        WHERE d.reason IN (\(DecisionReason.liveFills.numbers)) AND NOT d.is_test
      )
      SELECT count(*), count(*) FILTER (WHERE is_final), count(*) FILTER (WHERE is_final AND is_seen),
        count(*) FILTER (WHERE is_final AND NOT is_seen), max(final_at) FILTER (WHERE NOT is_final) FROM serves
      """
    guard let row = try connection.query(sql).first else {
      return Finality(serves: 0, final: 0, impressions: 0, expired: 0, finalBy: nil)
    }
    return Finality(
      serves: try row.decode(0), final: try row.decode(1), impressions: try row.decode(2), expired: try row.decode(3),
      finalBy: try row.decode(4))
  }
}
