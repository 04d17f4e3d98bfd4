package import Pipeline
package import Runtime

/// How a service of the pipeline runs; every key with its unit, range and default.
package struct PipelineSettings: Sendable {
  package var connections: ConnectionSettings
  package var workers: Int
  package var batchRecordsMaximum: Int
  package var insertedRowsMaximum: Int
  package var batchLingerMilliseconds: Int
  /// What the partitions of the process may keep; only tests say how much.
  package var memory = PipelineMemory()

  package static let workersKey = ConfigurationKey<Int>.integer(
    "HANDBILL_WORKERS", in: 1...64, default: 2,
    help: "Threads that decide and commit, each with a database connection.")
  package static let batchRecordsKey = ConfigurationKey<Int>.integer(
    "HANDBILL_BATCH_RECORDS", in: 1...100_000, default: 10_000,
    help: "A batch with so many records waits for no more; what was read with the last of them, it takes as well.")

  /// Rows of a transaction that go as prepared INSERTs, all of it in one round trip. A COPY begins dearer
  /// (measured: 0.4 ms) and costs less a row.
  package static let insertedRowsMaximumDefault = 16
  package static let insertedRowsKey = ConfigurationKey<Int>.integer(
    "HANDBILL_INSERTED_ROWS", in: 0...1_000, default: insertedRowsMaximumDefault,
    help: "A transaction with more rows than this sends them by COPY, which begins dearer and costs less a row.")

  /// The least time between two batches of a partition.
  package static func lingerKey(default milliseconds: Int) -> ConfigurationKey<Int> {
    .milliseconds(
      "HANDBILL_BATCH_LINGER", in: 0...10_000, default: milliseconds,
      help: "The least time between two batches of a partition. What comes after more than that is not kept waiting.")
  }

  package static func declarations(lingerMilliseconds: Int) -> [ConfigurationDeclaration] {
    ConnectionSettings.declarations + [
      workersKey.declaration, batchRecordsKey.declaration, insertedRowsKey.declaration,
      lingerKey(default: lingerMilliseconds).declaration,
    ]
  }

  package init(reader: inout ConfigurationReader, lingerMilliseconds: Int) {
    connections = ConnectionSettings(reader: &reader)
    workers = reader.value(Self.workersKey)
    batchRecordsMaximum = reader.value(Self.batchRecordsKey)
    insertedRowsMaximum = reader.value(Self.insertedRowsKey)
    batchLingerMilliseconds = reader.value(Self.lingerKey(default: lingerMilliseconds))
  }
}
