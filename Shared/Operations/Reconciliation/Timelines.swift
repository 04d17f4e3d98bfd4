package import AdCore
package import Postgres

/// What people do about lost commits. Within the caller's transaction; blocks.
package struct Timelines {
  /// The last mark of a topic and partition.
  package struct Told: Hashable, Sendable {
    package var topic: String
    package var partition: Int32
    package var mark: TimelineMark

    package init(topic: String, partition: Int32, mark: TimelineMark) {
      self.topic = topic
      self.partition = partition
      self.mark = mark
    }
  }

  /// Where commits are lost.
  package struct Loss: Hashable, Sendable {
    /// A service's schema.
    package let service: String
    package let partition: Int32
    package let detail: String
  }

  private let connection: PostgresConnection

  package init(_ connection: PostgresConnection) { self.connection = connection }

  /// Partitions that have stopped, and what the topics tell beyond the tables.
  package func losses(_ told: [Told]) throws(PostgresError) -> [Loss] {
    let sql = """
      SELECT service, partition, detail FROM timeline.losses($1, $2, $3::text[]::uuid[], $4, $5) ORDER BY 1, 2, 3
      """
    var losses: [Loss] = []
    for row in try connection.query(sql, parameters(told)) {
      losses.append(Loss(service: try row.decode(0), partition: try row.decode(1), detail: try row.decode(2)))
    }
    return losses
  }

  /// Goes on above everything that was told.
  ///
  /// - Returns: the number of the new timeline.
  package func begin(_ told: [Told], reason: String) throws(PostgresError) -> Int64 {
    let sql = "SELECT timeline.begin($1, $2, $3::text[]::uuid[], $4, $5, $6)::bigint"
    return try connection.query(sql, parameters(told) + [reason]).first?.decode(0) ?? 0
  }

  /// Accepted events whose ad nobody decided to serve, and no range names: each is named by itself.
  package func nameLostServes() throws(PostgresError) -> Int64 {
    try connection.query("SELECT timeline.name_lost_serves()").first?.decode(0) ?? 0
  }

  private func parameters(_ told: [Told]) -> [any PostgresValue] {
    [
      told.map(\.topic), told.map(\.partition), told.map(\.mark.timeline.text), told.map(\.mark.sequence),
      told.map(\.mark.batch),
    ]
  }
}
