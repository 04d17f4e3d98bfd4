import AdCore
import AdEvents
import Records
import Testing

@testable import Pipeline

@Suite("What was collected")
struct CollectedRecordsTests {
  private static let inputs = [
    InputDeclaration(topic: "patient", isSequenced: true, isUrgent: false),
    InputDeclaration(topic: "urgent", isSequenced: true),
  ]

  /// Whether a batch with this record alone is urgent.
  private func isUrgent(input: Int, _ sequence: RecordSequence) -> Bool {
    var batch = InputBatch<Echo.Event>(inputCount: Self.inputs.count)
    batch.append(
      RecordHead(
        input: input, arrival: Timestamp(milliseconds: 0), sequence: sequence,
        identity: RecordIdentity(offset: 0, timestamp: 0, contentHash: 0)))
    return batch.collected(from: Self.inputs).isUrgent
  }

  @Test("Urgent is what is more than a watermark, of an input that somebody waits for")
  func urgency() {
    let watermark = RecordSequence.watermark(Watermark(time: Timestamp(milliseconds: 0), sequence: 1))
    #expect(isUrgent(input: 1, .number(1)))
    #expect(isUrgent(input: 1, .unnumbered))
    #expect(!isUrgent(input: 1, watermark))
    #expect(!isUrgent(input: 0, .number(1)))
    #expect(!isUrgent(input: 0, watermark))
  }
}
