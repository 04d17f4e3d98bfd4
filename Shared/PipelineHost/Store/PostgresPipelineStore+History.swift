internal import AdEvents
package import Pipeline
internal import Postgres

/// Lost commits.
extension PostgresPipelineStore {
  package func writers(_ partition: Int32) throws(PipelineError) -> [Int: WriterStanding] {
    let sequenced = inputTopics.enumerated().compactMap { input, topic in
      Topic.writer(ofSequenced: topic).map { writer in
        (input: input, topic: topic, schema: writer.rawValue.replacing(" ", with: "_"))
      }
    }
    return try perform([partition]) { connection throws(PostgresError) in
      var statements = StatementBatch()
      let tickets = sequenced.map { statements.send(prepared: sql.writer($0.schema), [partition, $0.topic]) }
      let results = try connection.run(statements)
      var writers: [Int: WriterStanding] = [:]
      for (ticket, input) in zip(tickets, sequenced) {
        guard let row = try results.rows(at: ticket).first else { continue }
        writers[input.input] = WriterStanding(sequence: try row.decode(0), batch: try row.decode(1))
      }
      return writers
    }
  }

  package func note(finding: String, partition: Int32, epoch: Int64) throws(PipelineError) {
    try perform([partition]) { connection throws(PostgresError) in
      _ = try connection.query(sql.noteFinding, [Service.schema, partition, epoch, finding])
    }
  }
}
