import AdCore
import AdEvents
import Testing

@testable import Pipeline

@Suite("What a reader does where nothing happens")
struct QuietReaderTests {
  @Test("Watermarks alone wait, each time twice as long; what is more waits for nothing, and takes them along")
  func quiet() {
    let reader = Reader()
    reader.open()
    reader.isQuiet = true
    var offset: Int64 = 10
    func read() -> [ReaderAction] {
      defer { offset += 1 }
      return reader.poll(offset)
    }
    func finish() { _ = reader.tell(.finishedBatch(0, nextOffsets: [offset, 20], generation: 1)) }
    #expect(read() == [.handOver(0, generation: 1)])
    for rest: Int64 in [2_000, 4_000, 8_000, 8_000] {
      finish()
      reader.now += rest - 1
      #expect(read().isEmpty)
      #expect(reader.state.waitMilliseconds(now: reader.now, atMost: 100) == 1)
      reader.now += 1
      #expect(reader.poll() == [.handOver(0, generation: 1)])
    }
    finish()
    reader.now += 100
    #expect(read().isEmpty)
    reader.isQuiet = false
    #expect(read() == [.handOver(0, generation: 1)])
    finish()
    reader.isQuiet = true
    reader.now += 999
    #expect(read().isEmpty)
    reader.now += 1
    #expect(reader.poll() == [.handOver(0, generation: 1)])
  }

  @Test("A batch knows of itself whether it has more than watermarks; one that tells of lost sequences is more")
  func news() {
    func hasNews(_ sequences: RecordSequence...) -> Bool {
      var batch = InputBatch<Int>(inputCount: 1)
      for (offset, sequence) in sequences.enumerated() {
        let identity = RecordIdentity(offset: Int64(offset), timestamp: 0, contentHash: 0)
        batch.append(RecordHead(input: 0, arrival: Timestamp(milliseconds: 0), sequence: sequence, identity: identity))
      }
      return batch.size.hasNews
    }
    func watermark(firstLost: Int64 = 0) -> RecordSequence {
      .watermark(Watermark(time: Timestamp(milliseconds: 5), sequence: 7, firstLostSequence: firstLost))
    }
    #expect(!hasNews())
    #expect(!hasNews(watermark(), watermark()))
    #expect(hasNews(watermark(), .number(8), watermark()))
    #expect(hasNews(.unnumbered))
    #expect(hasNews(watermark(firstLost: 6)))
  }

  @Test("Many watermarks are a full batch")
  func quietAndFull() {
    let reader = Reader()
    reader.open()
    reader.isQuiet = true
    #expect(reader.poll(10) == [.handOver(0, generation: 1)])
    #expect(reader.poll(11, 12, 13) == [.handOver(0, generation: 1)])
  }
}
