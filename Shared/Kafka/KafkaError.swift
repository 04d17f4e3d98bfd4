internal import CLibrdkafka

/// What went wrong with Kafka, classified so that a caller can decide without knowing librdkafka's numbers.
///
/// `rd_kafka_error_t` must be destroyed by whoever receives it, or every refused record leaks: it is read and destroyed
/// in exactly one place, `KafkaError.consume`, and nowhere else.
package struct KafkaError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What a caller has to do about it.
  package enum Kind: Equatable, Sendable {
    /// A setting or an argument is wrong: trying again does not help.
    case configuration
    /// No broker can be reached at this moment.
    case brokerUnavailable
    /// The named time ran out.
    case timedOut
    /// Credentials or access rights are missing.
    case notAuthorized
    /// The brokers have no authorizer, so nothing can be said of access rules.
    case noAccessRules
    /// The topic does not exist.
    case unknownTopic
    /// The topic exists, the partition does not.
    case unknownPartition
    /// The log does not have the offset: it ran past retention, or the log is another one.
    case offsetOutOfRange
    /// The broker or the client refuses this record (its size, its time stamp).
    case recordRefused
    /// A topic of that name exists already.
    case alreadyExists
    /// The producer's limit of records or bytes in flight held for the whole timeout.
    case noCredit
    /// The producer has failed before and takes nothing more: build a new one.
    case producerFailed
    /// Another instance has taken this one's place.
    case fenced
    /// The client was closed.
    case closed
    /// The consumer group is changing or its coordinator is moving.
    case group
    /// The record was taken out of the queue by `abort`.
    case purged
    /// Anything else; `codeName` tells.
    case other
  }

  package let kind: Kind
  /// librdkafka's name of the error (`_ALL_BROKERS_DOWN`), or the name of the kind for an error of our own.
  package let codeName: String
  package let message: String
  /// Whether the client that reported it must be thrown away.
  package let isFatal: Bool
  /// Whether the same call may succeed later.
  package let isRetriable: Bool
  /// The partition concerned, where there is one.
  package let partition: KafkaTopicPartition?

  package var description: String {
    let suffix = partition.map { " (\($0))" } ?? ""
    return "\(codeName): \(message)\(suffix)"
  }

  /// An error of this module's own.
  init(
    _ kind: Kind, _ message: String, isRetriable: Bool = false, isFatal: Bool = false,
    partition: KafkaTopicPartition? = nil
  ) {
    self.kind = kind
    self.codeName = "\(kind)"
    self.message = message
    self.isFatal = isFatal
    self.isRetriable = isRetriable
    self.partition = partition
  }

  /// An error that librdkafka or the broker told by its code.
  init(
    code: rd_kafka_resp_err_t, message: String? = nil, isFatal: Bool = false, isRetriable: Bool? = nil,
    partition: KafkaTopicPartition? = nil
  ) {
    let isFatal = isFatal || code == RD_KAFKA_RESP_ERR__FATAL
    self.kind = KafkaError.kind(of: code)
    self.codeName = unsafe String(cString: rd_kafka_err2name(code))
    self.message = unsafe message ?? String(cString: rd_kafka_err2str(code))
    self.isFatal = isFatal
    self.isRetriable = !isFatal && (isRetriable ?? KafkaError.isRetriable(code))
    self.partition = partition
  }

  /// No broker can be reached; of one that is away librdkafka tells otherwise.
  package static let allBrokersDown = KafkaError(code: RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)

  /// Reads an error object and destroys it; nil means success.
  static func consume(_ error: OpaquePointer?) -> KafkaError? {
    guard let error = unsafe error else { return nil }
    defer { unsafe rd_kafka_error_destroy(error) }
    let code = unsafe rd_kafka_error_code(error)
    guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
    return unsafe KafkaError(
      code: code, message: String(cString: rd_kafka_error_string(error)), isFatal: rd_kafka_error_is_fatal(error) != 0,
      isRetriable: rd_kafka_error_is_retriable(error) != 0 ? true : nil)
  }

  /// Throws unless `code` is success.
  static func check(_ code: rd_kafka_resp_err_t, partition: KafkaTopicPartition? = nil) throws(KafkaError) {
    if code != RD_KAFKA_RESP_ERR_NO_ERROR { throw KafkaError(code: code, partition: partition) }
  }

  /// Whether only this record, or records of its topic, cannot be delivered.
  var concernsRecordAlone: Bool {
    switch kind {
    case .unknownTopic, .unknownPartition, .notAuthorized, .recordRefused, .configuration: !isFatal
    default: false
    }
  }

  /// Whether a connection to a broker is gone, or may be. One that could not be made was none: librdkafka tells the state that
  /// it failed in, in its words alone.
  package var isConnectionLoss: Bool { kind == .brokerUnavailable && !message.contains("in state CONNECT") }

  package static let closed = KafkaError(.closed, "the client is closed")

  private static func kind(of code: rd_kafka_resp_err_t) -> Kind {
    switch code {
    case RD_KAFKA_RESP_ERR__INVALID_ARG, RD_KAFKA_RESP_ERR_INVALID_CONFIG, RD_KAFKA_RESP_ERR_INVALID_PARTITIONS,
      RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION,
      RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
      .configuration
    case RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR__RESOLVE,
      RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION, RD_KAFKA_RESP_ERR_NOT_CONTROLLER, RD_KAFKA_RESP_ERR__SSL:
      .brokerUnavailable
    case RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE,
      RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
      .timedOut
    case RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED,
      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
      RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      .notAuthorized
    case RD_KAFKA_RESP_ERR_SECURITY_DISABLED: .noAccessRules
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART: .unknownTopic
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION: .unknownPartition
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE,
      RD_KAFKA_RESP_ERR__NO_OFFSET:
      .offsetOutOfRange
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_INVALID_MSG, RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE,
      RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, RD_KAFKA_RESP_ERR_INVALID_RECORD:
      .recordRefused
    case RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS: .alreadyExists
    case RD_KAFKA_RESP_ERR__QUEUE_FULL: .noCredit
    case RD_KAFKA_RESP_ERR__FENCED, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, RD_KAFKA_RESP_ERR_PRODUCER_FENCED: .fenced
    case RD_KAFKA_RESP_ERR__DESTROY: .closed
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT: .purged
    case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
      RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION,
      RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
      .group
    default: .other
    }
  }

  private static func isRetriable(_ code: rd_kafka_resp_err_t) -> Bool {
    switch kind(of: code) {
    case .brokerUnavailable, .timedOut, .noCredit, .group: true
    case .other:
      switch code {
      case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, RD_KAFKA_RESP_ERR__IN_PROGRESS,
        RD_KAFKA_RESP_ERR__WAIT_COORD, RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS:
        true
      default: false
      }
    default: false
    }
  }
}
