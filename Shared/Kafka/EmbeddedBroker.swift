internal import CLibrdkafka
internal import Threads

/// librdkafka's mock cluster: a real listener on loopback that any client can use, in memory, for demos and tests.
///
/// It keeps at most 5 MiB and 100,000 messages a partition, stamps no LogAppendTime, and knows no CreateTopics: its own
/// process makes topics, before the first use of the name makes one with four partitions. Clients need
/// `KafkaConfiguration.Environment.embedded`.
package final class EmbeddedBroker: Sendable {
  private let state: Monitor<State>

  /// `host:port` of each broker, separated by commas.
  package let bootstrapServers: String

  @safe private struct State {
    let cluster: OpaquePointer
    let client: ClientHandle
    var topics: [String: Int32] = [:]
    var isStopped = false
  }

  /// The most brokers of one cluster, and the most partitions of one topic.
  package static let brokersMaximum = 8
  package static let partitionsMaximum: Int32 = 256

  /// Starts listening on free loopback ports.
  package init(brokerCount: Int = 1) throws(KafkaError) {
    guard (1...EmbeddedBroker.brokersMaximum).contains(brokerCount) else {
      throw KafkaError(.configuration, "1 to \(EmbeddedBroker.brokersMaximum) brokers")
    }
    let configuration = KafkaConfiguration(
      bootstrapServers: "", clientID: "embedded-broker", environment: .embedded)
    let client = try ClientHandle(configuration, role: .admin)
    guard let cluster = unsafe rd_kafka_mock_cluster_new(client.pointer, Int32(brokerCount)),
      let servers = unsafe rd_kafka_mock_cluster_bootstraps(cluster)
    else {
      _ = client.destroy(timeoutMilliseconds: 1_000)
      throw KafkaError(.brokerUnavailable, "the embedded broker cannot listen")
    }
    bootstrapServers = unsafe String(cString: servers)
    state = unsafe Monitor(State(cluster: cluster, client: client))
  }

  /// Makes a topic; fine when it is there with as many partitions.
  package func createTopic(_ name: String, partitions: Int32) throws(KafkaError) {
    guard EmbeddedBroker.isTopicName(name), (1...EmbeddedBroker.partitionsMaximum).contains(partitions) else {
      throw KafkaError(.configuration, "not a topic name, or not 1 to \(EmbeddedBroker.partitionsMaximum) partitions")
    }
    try state.withLock { (state) throws(KafkaError) in
      guard !state.isStopped else { throw .closed }
      if let count = state.topics[name] {
        if count == partitions { return }
        throw KafkaError(.alreadyExists, "\(name) has \(count) partitions, which cannot change here")
      }
      let code = unsafe rd_kafka_mock_topic_create(state.cluster, name, partitions, 1)
      if code != RD_KAFKA_RESP_ERR_NO_ERROR {
        throw KafkaError(code: code, message: "\(name) was made by its first use, with four partitions")
      }
      state.topics[name] = partitions
    }
  }

  /// Kafka's rule for names: 1 to 249 of letters, digits, `.`, `_` and `-`.
  package static func isTopicName(_ name: String) -> Bool {
    (1...249).contains(name.utf8.count) && name != "." && name != ".."
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }

  /// Works on the cluster itself, unless it is stopped: for tests that make it fail.
  func withCluster(_ body: (OpaquePointer) -> Void) {
    state.withLock { state in if !state.isStopped { unsafe body(state.cluster) } }
  }

  /// Stops listening; all records are gone.
  package func stop() {
    state.withLock { state in
      guard !state.isStopped else { return }
      state.isStopped = true
      unsafe rd_kafka_mock_cluster_destroy(state.cluster)
      _ = state.client.destroy(timeoutMilliseconds: 5_000)
    }
  }
}
