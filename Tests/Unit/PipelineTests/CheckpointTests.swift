import AdCore
import TestValues
import Testing

@testable import Pipeline

@Suite("What a partition stores between batches")
struct CheckpointTests {
  /// Publishes by a batch, and hears that it was delivered.
  private func publish(_ partition: EchoPartition) throws {
    try partition.process([(Echo.plain, .publish)])
    partition.pipeline.delivered(try #require(partition.writer.sent.last?.receipt))
  }

  @Test("A busy partition's batches store what was delivered; once it is quiet, the next tick does, and only once")
  func deliveries() throws {
    let partition = EchoPartition()
    try partition.open()
    for _ in 0..<3 {
      try publish(partition)
      try partition.later(seconds: 1)
    }
    #expect(partition.store.checkpoints.isEmpty)
    #expect(partition.store.batches.last?.outputs[0].position.confirmedSequence == 2)
    for _ in 0..<3 { try partition.later(seconds: 1) }
    #expect(partition.store.checkpoints.map(\.confirmed) == [[3]])
  }

  @Test("A busy partition's watermark is stored where its batches fall behind by a second; a quiet one's as it moves")
  func watermarks() throws {
    var service = Echo()
    service.inputs[Echo.numbered].boundsWatermark = false
    let partition = EchoPartition(service)
    try partition.open()
    /// The log's end is where the partition stands, at this moment.
    func confirmEnd() throws {
      let now = partition.clock.now
      let offset = partition.pipeline.nextOffsets[Echo.plain]
      try partition.pipeline.confirmEnd(LogEnd(input: Echo.plain, offset: offset, asked: now, decided: offset))
    }
    func tick(afterMilliseconds milliseconds: Int64) throws -> Int {
      partition.clock.advance(byMilliseconds: milliseconds)
      try confirmEnd()
      _ = try partition.pipeline.tick()
      return partition.store.checkpoints.count
    }
    // By its clock less an error a log's end says less than a record that has just come.
    let error = PipelineLimits.clockErrorMilliseconds
    try partition.process([(Echo.plain, .line("a"))])
    #expect(try tick(afterMilliseconds: error + 999) == 0, "not a second behind")
    try partition.process([(Echo.plain, .line("b"))])
    #expect(try tick(afterMilliseconds: error + 1_000) == 1)
    #expect(try tick(afterMilliseconds: 1) == 2, "a quiet one's, as far as it moved")
    #expect(try tick(afterMilliseconds: 0) == 2, "it has not moved")
    let stored = partition.store.checkpoints.last?.watermark
    #expect(stored == partition.clock.now.advanced(byMilliseconds: -error))
    #expect(partition.pipeline.committedWatermark == stored)
  }
}
