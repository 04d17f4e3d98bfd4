import AdCore
import Testing

@testable import Pipeline

@Suite("Batches of several partitions in one transaction")
struct TogetherTests {
  private typealias Pipeline = PartitionPipeline<EchoStore, EchoWriter>

  private let store = EchoStore()
  private let partitions: [EchoPartition]

  init() throws {
    partitions = (0..<3).map { [store] in EchoPartition(partition: $0, in: store) }
    for partition in partitions { try partition.open() }
  }

  /// Each partition's batch has these events; the first ones are the first partition's.
  private func process(_ events: Echo.Event...) -> [Result<BatchSummary, PipelineError>] {
    Pipeline.process(
      zip(partitions, events).map { ($0.pipeline, $0.batch([(Echo.plain, $1)])) }, in: store)
  }

  private func kinds(_ results: [Result<BatchSummary, PipelineError>]) -> [PipelineError.Kind?] {
    results.map { if case .failure(let error) = $0 { error.kind } else { nil } }
  }

  @Test("All are committed at once, and each publishes what it made")
  func together() throws {
    let results = process(.publish, .line("b"), .publish)
    #expect(store.transactions == [[0, 1, 2]])
    #expect(try results.map { try $0.get().records } == [1, 1, 1])
    #expect(store.lines == ["b"])
    #expect(partitions.map { $0.writer.texts.filter { $0 != "watermark" } } == [["1"], [], ["1"]])
    #expect(partitions.map(\.pipeline.nextOffsets) == Array(repeating: [1, 0], count: 3))
    // And they go on from there.
    _ = process(.line("c"), .line("d"))
    #expect(store.transactions == [[0, 1, 2], [0, 1]])
    #expect(store.lines == ["b", "c", "d"])
  }

  @Test("A batch that moves over more offsets than one may is committed by itself, in parts; the others together")
  func far() throws {
    partitions[1].skip(Echo.plain, offsets: 150_000)
    let results = process(.line("a"), .line("b"), .line("c"))
    #expect(kinds(results) == [nil, nil, nil])
    #expect(store.transactions == [[1], [1], [1], [0, 2]])
    #expect(store.lines == ["b", "a", "c"])
    #expect(partitions.map(\.pipeline.nextOffsets) == [[1, 0], [150_001, 0], [1, 0]])
  }

  @Test("Nor do the batches of one transaction move over more offsets: who has no room there is committed by itself")
  func farTogether() throws {
    for partition in partitions { partition.skip(Echo.plain, offsets: 30_000) }
    let results = process(.line("a"), .line("b"), .line("c"))
    #expect(kinds(results) == [nil, nil, nil])
    #expect(store.transactions == [[2], [0, 1]])
    #expect(partitions.map(\.pipeline.nextOffsets) == Array(repeating: [30_001, 0], count: 3))
  }

  @Test("A row that the database refuses is put aside alone; the others are committed, each by itself")
  func refused() throws {
    let results = process(.line("a"), .refused, .line("c"))
    #expect(kinds(results) == [nil, nil, nil])
    #expect(store.transactions == [[0, 1, 2], [0], [1], [1], [2]])
    #expect(store.lines == ["a", "c"])
    #expect(store.batches.flatMap(\.rejections).map(\.reason) == [RejectionReason.refusedByDatabase.rawValue])
    #expect(store.batches.map(\.number) == [1, 1, 1])
  }

  @Test(
    "What is refused together is committed one by one: whose trouble it is, is told so, and the others lose nothing",
    arguments: [PipelineError.fenced, .invariantBroken("a column lacks"), .databaseUnavailable("a deadlock")])
  func oneByOne(error: PipelineError) {
    store.refusesSeveral = true
    store.failure = { $0 == [1] ? error : nil }
    let results = process(.line("a"), .line("b"), .line("c"))
    #expect(kinds(results) == [nil, error.kind, nil])
    #expect(store.transactions == [[0, 1, 2], [0], [1], [2]])
    #expect(store.lines == ["a", "c"])
  }

  @Test(
    "A failure that leaves in doubt what was committed is everybody's, and nothing is tried again",
    arguments: [PipelineError.databaseUnavailable("gone"), .invariantBroken("an answer that cannot be read")])
  func doubt(error: PipelineError) {
    store.failure = { _ in error }
    let results = process(.line("a"), .line("b"))
    #expect(kinds(results) == [error.kind, error.kind])
    #expect(store.transactions == [[0, 1]])
    #expect(partitions[0].pipeline.nextOffsets == [0, 0])
  }

  @Test("No transaction has two batches that change rows of all partitions, and that one comes last")
  func sharing() {
    let results = process(.share, .line("b"), .share)
    #expect(kinds(results) == [nil, nil, nil])
    #expect(store.transactions == [[1, 0], [2]])
  }

  @Test("What a worker has at hand goes together: one batch of each partition, in order, up to a number of records")
  func waiting() {
    func batch(_ records: Int) -> InputBatch<Echo.Event> {
      partitions[0].batch((0..<records).map { _ in (Echo.plain, .line("")) })
    }
    var waiting = WaitingBatches<Echo.Event>()
    let sizes: [(Int32, Int)] = [(0, 1), (1, 2), (0, 3), (2, 996), (3, 2), (1, 5_000), (2, 1)]
    for (partition, size) in sizes { waiting.append(batch(size), of: partition) }
    waiting.append(batch(1), of: 9)
    waiting.drop(9)
    var groups: [[[Int]]] = []
    while true {
      let group = waiting.next()
      if group.isEmpty { break }
      groups.append(group.map { [Int($0.partition), $0.batch.records.count] })
    }
    #expect(groups == [[[0, 1], [1, 2], [2, 996]], [[0, 3], [3, 2], [2, 1]], [[1, 5_000]]])
  }
}
