import BrokerFaults
import Foundation
import Kafka
import Pipeline
import Synchronization
import TestServices
import TestValues
import Testing
import Threads

@testable import PipelineHost
@testable import Runtime

@Suite("The writer of a service", .timeLimit(.minutes(5)))
struct WriterTests {
  private static let waitMilliseconds = 30_000

  private func writer(
    _ broker: EmbeddedBroker, recordsInFlightMaximum: Int = 100, rebuilt: Mailbox<Void> = Mailbox()
  ) throws -> KafkaTopicWriter {
    var configuration = KafkaConfiguration(
      bootstrapServers: broker.bootstrapServers, clientID: "test", environment: .embedded)
    configuration.recordsInFlightMaximum = recordsInFlightMaximum
    let writer = KafkaTopicWriter(
      configuration: configuration, topics: ["events"],
      listener: .init(delivered: { _ in }, rebuilt: { rebuilt.put(()) }),
      logger: .unread,
      metrics: MetricsRegistry(HostMetrics.declarations))
    try writer.start()
    return writer
  }

  private func send(_ sequence: Int64, to writer: WorkerTopicWriter) throws(PipelineError) {
    try writer.send(
      OutgoingMessage(topic: "events", partition: 0, key: nil, value: [1], headers: []),
      receipt: Receipt(partition: 0, content: .numbered(output: 0, sequence: sequence)))
  }

  @Test("A producer made anew takes nothing of a worker whose partitions were not told of it")
  func untold() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    let rebuilt = Mailbox<Void>()
    let writer = try writer(broker, rebuilt: rebuilt)
    let worker = try WorkerTopicWriter(writer, ring: .sample)
    #expect(!worker.adopt())
    broker.pushFaults([.messageTooLarge])
    try send(1, to: worker)
    #expect(rebuilt.takeAll(timeoutMilliseconds: Self.waitMilliseconds).count == 1)
    #expect(throws: PipelineError.self) { try send(2, to: worker) }
    #expect(worker.adopt())
    try send(1, to: worker)
    writer.close(timeoutMilliseconds: 10_000)
    #expect(!worker.adopt())
    #expect(throws: PipelineError.self) { try send(2, to: worker) }
  }

  @Test("Whoever waits for a broker that is away is let go when the service stops")
  func stopping() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    let writer = try writer(broker, recordsInFlightMaximum: 1)
    broker.setBroker(1, isUp: false)
    let ended = Mailbox<PipelineError?>()
    let thread = OwnerThread("sending") {
      guard let worker = try? WorkerTopicWriter(writer, ring: .sample) else { return }
      do throws(PipelineError) {
        for sequence in 1...2 as ClosedRange<Int64> { try send(sequence, to: worker) }
        ended.put(nil)
      } catch { ended.put(error) }
    }
    #expect(ended.takeAll(timeoutMilliseconds: 1_500).isEmpty)
    writer.beginStopping()
    let errors = ended.takeAll(timeoutMilliseconds: Self.waitMilliseconds)
    #expect(errors.map { $0?.kind } == [.producerUnavailable])
    thread.join()
    writer.close(timeoutMilliseconds: 100)
  }
}
