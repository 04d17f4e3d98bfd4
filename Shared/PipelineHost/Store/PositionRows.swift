internal import AdCore
internal import Pipeline
internal import Postgres
internal import Runtime

extension [PostgresRow] {
  /// Where each input stands, in the order of the topics; at its start where there is no row.
  func inputPositions(_ topics: [String]) throws(PostgresError) -> [InputPosition] {
    var found: [String: InputPosition] = [:]
    for row in self {
      var last: RecordIdentity?
      if let offset: Int64 = try row.decode(2), let timestamp: Int64 = try row.decode(3),
        let hash: Int64 = try row.decode(4)
      {
        last = RecordIdentity(offset: offset, timestamp: timestamp, contentHash: UInt64(bitPattern: hash))
      }
      found[try row.decode(0)] = InputPosition(
        nextOffset: try row.decode(1), last: last, consumedSequence: try row.decode(5),
        consumedWatermark: Timestamp(try row.decode(6)))
    }
    return topics.map { found[$0] ?? .start }
  }

  /// The same of outputs.
  func outputPositions(_ topics: [String]) throws(PostgresError) -> [OutputPosition] {
    var found: [String: OutputPosition] = [:]
    for row in self {
      found[try row.decode(0)] = OutputPosition(nextSequence: try row.decode(1), confirmedSequence: try row.decode(2))
    }
    return topics.map { found[$0] ?? .start }
  }
}
