import AdCore
import AdEvents
import Pipeline
import Postgres

/// What the services wrote down for each offset of one input (I3).
struct StrangerOutcomes {
  /// By topic and partition, the outcome of each offset.
  private var outcomes: [String: [Int64: UInt8]] = [:]
  private static let readers: [(topic: Topic, schema: String)] = [
    (.requests, "ad_selection"), (.impressions, "impression_tracking"), (.clicks, "click_tracking"),
    (.acceptedImpressions, "billing"), (.acceptedClicks, "billing"), (.usage, "billing"), (.budgets, "ad_selection"),
  ]

  /// Whether a service keeps outcomes of a topic.
  static func isKept(_ topic: Topic) -> Bool { readers.contains { $0.topic == topic } }

  /// The last batch of each service's partition, by schema and partition.
  typealias Batches = [String: Int64]

  static func lastBatches(_ connection: PostgresConnection) throws -> Batches {
    var batches: Batches = [:]
    for schema in Set(readers.map(\.schema)) {
      for row in try connection.query("SELECT partition, batch_number FROM \(schema).partition") {
        let partition: Int32 = try row.decode(0)
        batches["\(schema)/\(partition)"] = try row.decode(1)
      }
    }
    return batches
  }

  /// Reads those of later batches (before them a topic may have been another log), and throws where an offset has two.
  init(_ connection: PostgresConnection, after batches: Batches) throws {
    for (schema, topics) in Dictionary(grouping: Self.readers, by: \.schema) {
      let names = topics.map(\.topic.name)
      let sql = """
        SELECT partition, input_topics, first_offsets, next_offsets, outcomes, batch_number FROM \(schema).batch
        WHERE length(outcomes) > 0 ORDER BY partition, batch_number
        """
      for row in try connection.query(sql) {
        let partition: Int32 = try row.decode(0)
        let number: Int64 = try row.decode(5)
        guard number > batches["\(schema)/\(partition)"] ?? 0 else { continue }
        let inputs: [String] = try row.decode(1)
        let first: [Int64] = try row.decode(2)
        let next: [Int64] = try row.decode(3)
        var bytes = try row.decode(4, [UInt8].self)[...]
        for (topic, (first, next)) in zip(inputs, zip(first, next)) where first < next {
          let part = bytes.prefix(Int(next - first))
          bytes = bytes.dropFirst(part.count)
          guard names.contains(topic) else { continue }
          for (offset, outcome) in zip(first..<next, part) where outcome != Outcome.absent.rawValue {
            guard outcomes["\(topic)/\(partition)", default: [:]].updateValue(outcome, forKey: offset) == nil else {
              throw FaultFailure("\(topic)[\(partition)]: offset \(offset) has two outcomes")
            }
          }
        }
      }
    }
  }

  /// The outcome of one offset; nil where it has none.
  func outcome(_ topic: Topic, _ partition: Int32, _ offset: Int64) -> UInt8? {
    outcomes["\(topic.name)/\(partition)"]?[offset]
  }
}
