import CLibrdkafka

@testable package import Kafka

/// What a broker is made to answer to a produce request.
package enum BrokerFault: Sendable {
  /// Retriable; librdkafka sends again by itself.
  case notEnoughReplicas, notLeader
  /// Not retriable: the record is refused.
  case messageTooLarge, topicAuthorizationFailed
  /// The connection breaks instead of an answer.
  case disconnect
  /// All is well: what comes before another fault.
  case none

  fileprivate var code: rd_kafka_resp_err_t {
    switch self {
    case .notEnoughReplicas: RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS
    case .notLeader: RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION
    case .messageTooLarge: RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE
    case .topicAuthorizationFailed: RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED
    case .disconnect: RD_KAFKA_RESP_ERR__TRANSPORT
    case .none: RD_KAFKA_RESP_ERR_NO_ERROR
    }
  }
}

extension EmbeddedBroker {
  /// The number of the produce request in Kafka's protocol.
  private static let produceRequest: Int16 = 0

  /// The next produce requests get these answers, one each.
  package func pushFaults(_ faults: [BrokerFault]) {
    let codes = faults.map(\.code)
    unsafe withCluster { unsafe rd_kafka_mock_push_request_errors_array($0, Self.produceRequest, codes.count, codes) }
  }

  /// Forgets what ``pushFaults(_:)`` has put in wait.
  package func clearFaults() {
    unsafe withCluster { unsafe rd_kafka_mock_clear_request_errors($0, Self.produceRequest) }
  }

  /// Takes a broker (from 1) off the network, and back.
  package func setBroker(_ broker: Int32, isUp: Bool) {
    unsafe withCluster { cluster in
      _ = unsafe isUp ? rd_kafka_mock_broker_set_up(cluster, broker) : rd_kafka_mock_broker_set_down(cluster, broker)
    }
  }
}
