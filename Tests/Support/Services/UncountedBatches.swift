internal import AdCore
internal import PipelineHost
package import Postgres

/// Batches of a partition whose rows are to be counted: the parameters of the statements that do it.
package struct UncountedBatches {
  private static let allIDs: [any PostgresValue] = [
    PostgresUUID(high: 0, low: 0), PostgresUUID(high: .max, low: .max),
  ]
  /// Bounds of all ids, and none that is named.
  package static let everything = allIDs + [[PostgresUUID(high: 0, low: 0)]]
  /// As the store asks for them.
  package let bounded: [any PostgresValue]

  /// - Parameter schema: the service's.
  package init(
    _ schema: String, _ partition: Int32, after: Int64 = 0, _ connection: PostgresConnection
  ) throws {
    let rows = try BatchRows.find(
      partition, after: after, upTo: 100, schema: schema, windows: Windows(), in: connection)
    bounded = rows.parameters
  }

  /// As if nobody knew where their rows lie.
  package var unbounded: [any PostgresValue] { bounded.prefix(3) + Self.everything + Self.allIDs }
}
