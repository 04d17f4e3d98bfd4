import AdBasics
import Testing
import Threads

@testable import AdClient
@testable import AdClientKafka
@testable import Kafka

@Suite("What the connection over Kafka tells")
struct ConnectionTests {
  @Test("A wrong address, a wrong password and a missing topic are told apart, each with what to do")
  func kinds() {
    func kind(_ kind: KafkaError.Kind) -> AdConnectionProblem.Kind {
      AdConnectionProblem(KafkaError(kind, "why"), "no answers are read", servers: "broker:9092").kind
    }
    #expect(kind(.brokerUnavailable) == .unreachable)
    #expect(kind(.timedOut) == .unreachable)
    #expect(kind(.notAuthorized) == .unauthorized)
    #expect(kind(.unknownTopic) == .topicMissing)
    #expect(kind(.unknownPartition) == .topicMissing)
    #expect(kind(.other) == .other)
    let missing = AdConnectionProblem(KafkaError(.unknownTopic, "why"), "no answers are read", servers: "")
    #expect(missing.detail.contains("handbill topics create --app"))
  }

  @Test("A broker's word on a record ends the trouble that was noted, and an outage that the consumer sees begins one")
  func bothDirections() throws {
    let state = TransportState(
      settings: KafkaTransportSettings(bootstrapServers: "broker:9092", apps: [try #require(AppID("sample-app"))]))
    state.note("the producer failed", KafkaError(.brokerUnavailable, "why"))
    KafkaSender.take([KafkaDeliveryReport(reportID: 1, offset: -1, error: KafkaError(.timedOut, "why"))], state)
    #expect(state.withLock { $0.connection }.problem?.kind == .unreachable)
    KafkaSender.take([KafkaDeliveryReport(reportID: 1, offset: 7, error: nil)], state)
    #expect(state.withLock { $0.connection } == .connected)
    try KafkaReader.take(KafkaError(.other, "a moment", isRetriable: true), state)
    #expect(state.withLock { $0.connection } == .connected)
    try KafkaReader.take(KafkaError(.brokerUnavailable, "one of several", isRetriable: true), state)
    #expect(state.withLock { $0.connection } == .connected)
    try KafkaReader.take(KafkaError.allBrokersDown, state)
    #expect(state.withLock { $0.connection }.problem?.kind == .unreachable)
    state.note("no answers are read", KafkaError(.unknownTopic, "gone"))
    KafkaSender.take([KafkaDeliveryReport(reportID: 2, offset: 8, error: nil)], state)
    #expect(state.withLock { $0.connection }.problem?.kind == .topicMissing, "no answer can be read by that")
    #expect(throws: KafkaError.self) { try KafkaReader.take(KafkaError(.unknownTopic, "gone"), state) }
  }

  @Test("Nobody at the address: the log and the state say so, and the request's error carries it")
  func unreachable() async throws {
    let entries = Monitor<[AdLogEntry]>([])
    let transport = AdTransport.kafka("127.0.0.1:1").make(
      AdTransport.Context(app: try #require(AppID("sample-app")), appKey: "key", deadlineMilliseconds: 500) { entry in
        entries.update { $0.append(entry) }
      })
    #expect(transport.connection == .connecting)
    let isTold = await withCheckedContinuation { continuation in
      _ = OwnerThread("waits") {
        continuation.resume(returning: entries.wait(timeoutMilliseconds: 30_000) { !$0.isEmpty })
      }
    }
    #expect(isTold && entries.withLock { $0.first?.level } == .warning)
    #expect(transport.connection.problem?.kind == .unreachable)
    #expect(transport.connection.problem?.detail.contains("127.0.0.1:1") == true)
    transport.close(timeoutMilliseconds: 0)
  }
}
