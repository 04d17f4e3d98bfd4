package import Pipeline
internal import Postgres

/// What is published again, from the rows of the results.
extension PostgresPipelineStore {
  package func messages(
    partition: Int32, output: Int, from sequence: Int64, limit: Int
  ) throws(PipelineError) -> [NumberedMessage] {
    try perform([partition]) { connection throws(PostgresError) in
      try tables.messages(partition: partition, output: output, from: sequence, limit: limit, in: connection)
    }
  }

  package func outbox(_ partition: Int32, after id: Int64, limit: Int) throws(PipelineError) -> [OutboxEntry] {
    try perform([partition]) { connection throws(PostgresError) in
      var entries: [OutboxEntry] = []
      for row in try connection.query(sql.outbox, [partition, id, Int64(limit)]) {
        entries.append(
          OutboxEntry(
            id: try row.decode(0),
            message: OutgoingMessage(
              topic: try row.decode(1), partition: try row.decode(2), key: try row.decode(3), value: try row.decode(4),
              headers: try row.headers(5) ?? [])))
      }
      return entries
    }
  }

  package func gapRequests(_ partition: Int32) throws(PipelineError) -> [ReceivedGapRequest] {
    guard !tables.consumers.isEmpty else { return [] }
    return try perform([partition]) { connection throws(PostgresError) in
      var statements = StatementBatch()
      for consumer in tables.consumers {
        statements.send(prepared: sql.gapRequests(of: consumer), [consumer, partition, outputTopics])
      }
      let results = try connection.run(statements)
      var requests: [ReceivedGapRequest] = []
      for (index, consumer) in tables.consumers.enumerated() {
        for row in try results.rows(at: index) {
          let topic: String = try row.decode(0)
          guard let output = outputTopics.firstIndex(of: topic) else { continue }
          requests.append(
            ReceivedGapRequest(
              consumer: consumer, number: try row.decode(1), output: output, sequence: try row.decode(2)))
        }
      }
      return requests
    }
  }
}
