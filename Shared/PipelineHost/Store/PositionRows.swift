internal import AdCore
internal import Pipeline
internal import Postgres
internal import Runtime

/// The columns of a partition's row that hold its positions: arrays, in the order of the service's topics.
enum PositionColumns {
  private static let columns = [
    "next_offsets", "last_offsets", "last_timestamps", "last_hashes", "consumed_sequences", "consumed_watermarks",
    "next_sequences", "confirmed_sequences",
  ]

  /// Of those that are read: the topics, then ``columns``.
  static let names = (["input_topics", "output_topics"] + columns).joined(separator: ", ")

  /// Sets each to a parameter of its own, the first one to `$number`.
  static func assignments(from number: Int) -> String {
    columns.enumerated().map { "\($1) = $\(number + $0)" }.joined(separator: ", ")
  }

  /// The parameters of ``assignments(from:)``.
  static func parameters(inputs: [InputPosition], outputs: [OutputPosition]) -> [any PostgresValue] {
    [
      inputs.map(\.nextOffset), inputs.map(\.last?.offset), inputs.map(\.last?.timestamp),
      inputs.map { $0.last.map { Int64(bitPattern: $0.contentHash) } }, inputs.map(\.consumedSequence),
      inputs.map(\.consumedWatermark), outputs.map(\.nextSequence), outputs.map(\.confirmedSequence),
    ]
  }
}

/// Where a partition stood, by the topics that its row has.
struct StoredPositions {
  private let inputTopics: [String]
  private let outputTopics: [String]
  private let inputs: [InputPosition]
  private let outputs: [OutputPosition]

  /// - Parameter column: the first one of ``PositionColumns/names``.
  init(_ row: PostgresRow, from column: Int) throws(PostgresError) {
    inputTopics = try row.decode(column)
    outputTopics = try row.decode(column + 1)
    let nextOffsets: [Int64] = try row.decode(column + 2)
    let lastOffsets: [Int64?] = try row.decode(column + 3)
    let lastTimestamps: [Int64?] = try row.decode(column + 4)
    let lastHashes: [Int64?] = try row.decode(column + 5)
    let consumedSequences: [Int64] = try row.decode(column + 6)
    let consumedWatermarks: [PostgresTimestamp] = try row.decode(column + 7)
    let nextSequences: [Int64] = try row.decode(column + 8)
    let confirmedSequences: [Int64] = try row.decode(column + 9)
    inputs = inputTopics.indices.map { index in
      var last: RecordIdentity?
      if let offset = lastOffsets[index], let timestamp = lastTimestamps[index], let hash = lastHashes[index] {
        last = RecordIdentity(offset: offset, timestamp: timestamp, contentHash: UInt64(bitPattern: hash))
      }
      return InputPosition(
        nextOffset: nextOffsets[index], last: last, consumedSequence: consumedSequences[index],
        consumedWatermark: Timestamp(consumedWatermarks[index]))
    }
    outputs = zip(nextSequences, confirmedSequences).map { OutputPosition(nextSequence: $0, confirmedSequence: $1) }
  }

  /// Whether the row's topics are these, in this order.
  func areOf(inputs: [String], outputs: [String]) -> Bool { inputTopics == inputs && outputTopics == outputs }

  /// In the order of the topics; at its start where the row has none.
  func inputs(_ topics: [String]) -> [InputPosition] {
    topics.map { topic in inputTopics.firstIndex(of: topic).map { inputs[$0] } ?? .start }
  }

  /// The same of outputs.
  func outputs(_ topics: [String]) -> [OutputPosition] {
    topics.map { topic in outputTopics.firstIndex(of: topic).map { outputs[$0] } ?? .start }
  }
}
