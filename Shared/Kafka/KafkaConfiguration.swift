internal import CLibrdkafka

/// How to reach Kafka and how to behave there. Every setting that matters is said: defaults differ between versions of
/// librdkafka and between client libraries, and some are wrong for us (the partitioner, the offsets, Nagle).
package struct KafkaConfiguration: Sendable, CustomStringConvertible {
  /// What is at the other end.
  package enum Environment: Sendable {
    /// A real Apache Kafka, or one that behaves like it.
    case real
    /// librdkafka's mock cluster. It always waits out a fetch's longest wait.
    case embedded
  }

  /// `host:port`, separated by commas. More than one where there are more: 2.0.2 can hang on one unreachable broker.
  package var bootstrapServers: String
  /// At most 24 bytes: 2.0.2 has been seen to crash on certain long ones.
  package var clientID: String
  package var environment: Environment
  /// How long a producer collects records before it sends: 0 where somebody waits.
  package var lingerMilliseconds = 5
  /// The most records that a producer has in flight.
  package var recordsInFlightMaximum = 100_000
  /// The most bytes that a producer has in flight: keys, values and headers, and what librdkafka keeps beside them.
  package var bytesInFlightMaximum = 24 << 20
  /// With so many bytes of values ahead of its reader a consumer asks for no more, in KiB; what was asked for still comes.
  package var consumerQueueKibibytesMaximum = 4 << 10
  /// With so many records ahead of its reader a consumer asks for no more. Few: librdkafka counts the bytes of values alone,
  /// and anybody who may write to a topic can send keys and headers of a megabyte.
  package var consumerQueueRecordsMaximum = 32
  /// How long a broker holds a question for records that it does not have yet, in ms; the embedded one always does.
  package var fetchWaitMillisecondsMaximum = 100
  /// The most bytes in an answer of a broker, but for a first batch that is longer; nobody is asked twice at once.
  package var fetchBytesMaximum = 1 << 20
  /// An answer with more bytes is not read at all: what the longest batch of any topic may have, and more.
  package static let answerBytesMaximum = 16 << 20
  /// Further settings by librdkafka's names (`security.protocol`, `sasl.password`); set last, never logged.
  package var properties: [String: String] = [:]
  /// Receives librdkafka's own log lines on the thread that serves the client; nil drops them.
  package var log: (@Sendable (KafkaLogLine) -> Void)?

  /// The most bytes that a producer sends to a partition at once.
  package static let messageBytesMaximum = 1_000_000
  /// The group that a consumer names which has none. librdkafka looks for its coordinator, so access rules must let it be
  /// described.
  package static let groupOfNobody = "handbill.none"
  /// The longest client id, in bytes.
  package static let clientIDBytesMaximum = 24

  package init(bootstrapServers: String, clientID: String, environment: Environment) {
    self.bootstrapServers = bootstrapServers
    self.clientID = clientID
    self.environment = environment
  }

  /// Without the values of `properties`: they may be secrets.
  package var description: String {
    "\(clientID) at \(bootstrapServers) (\(environment)); further properties: \(properties.keys.sorted())"
  }
}

/// A line that librdkafka wants logged.
package struct KafkaLogLine: Sendable {
  /// As in syslog: 0 is the worst, 3 an error, 4 a warning, 6 information.
  package let level: Int
  package let facility: String
  package let text: String
}

/// What a client is for; each gets the settings that librdkafka knows for it.
enum ClientRole {
  case consumer(groupID: String?)
  case producer
  case admin
}

extension KafkaConfiguration {
  /// The settings in the order in which they are set.
  func settings(for role: ClientRole) -> [(name: String, value: String)] {
    var settings = commonSettings
    switch role {
    case .consumer(let groupID): settings += consumerSettings(groupID: groupID)
    case .producer: settings += producerSettings
    // Consumer-like, as only a consumer's metadata requests may say that they must not create topics.
    // It asks for logs' ends too: with read_committed these would be where a transaction that somebody left open begins.
    case .admin: settings += [("allow.auto.create.topics", "false"), ("isolation.level", "read_uncommitted")]
    }
    return settings + properties.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private var commonSettings: [(name: String, value: String)] {
    // The embedded broker's own handle has nobody to reach.
    (bootstrapServers.isEmpty ? [] : [("bootstrap.servers", bootstrapServers)]) + [
      ("client.id", clientID),
      ("socket.nagle.disable", "true"),
      ("socket.keepalive.enable", "true"),
      ("topic.metadata.refresh.interval.ms", "10000"),
      ("reconnect.backoff.ms", "50"),
      ("reconnect.backoff.max.ms", "2000"),
      ("statistics.interval.ms", "0"),
      ("log.queue", "true"),
      ("log.connection.close", "false"),
    ]
  }

  /// librdkafka wants an answer to hold the largest message that a client may send, and people may have set that.
  private var largestMessage: Int {
    properties["message.max.bytes"].flatMap { Int($0) } ?? KafkaConfiguration.messageBytesMaximum
  }

  private func consumerSettings(groupID: String?) -> [(name: String, value: String)] {
    let isEmbedded = environment == .embedded
    return [
      // librdkafka wants a name even for assignments by hand; nobody joins that group.
      ("group.id", groupID ?? KafkaConfiguration.groupOfNobody),
      // So long librdkafka waits for a group's broker that is away when a consumer ends, and takes a whole processor for it.
      ("session.timeout.ms", "6000"),
      ("enable.auto.commit", "false"),
      ("enable.auto.offset.store", "false"),
      ("auto.offset.reset", "error"),
      // With read_committed any client could stop a topic by leaving a transaction open.
      ("isolation.level", "read_uncommitted"),
      ("enable.partition.eof", "true"),
      ("allow.auto.create.topics", "false"),
      ("check.crcs", "true"),
      ("fetch.min.bytes", "1"),
      ("fetch.wait.max.ms", isEmbedded ? "1" : "\(fetchWaitMillisecondsMaximum)"),
      ("fetch.message.max.bytes", "\(fetchBytesMaximum)"),
      ("fetch.max.bytes", "\(max(fetchBytesMaximum, largestMessage))"),
      ("receive.message.max.bytes", "\(KafkaConfiguration.answerBytesMaximum)"),
      ("fetch.error.backoff.ms", "50"),
      ("queued.min.messages", "\(consumerQueueRecordsMaximum)"),
      ("queued.max.messages.kbytes", "\(consumerQueueKibibytesMaximum)"),
    ] + fullQueueSettings
  }

  /// How soon after a queue was full more is asked for: librdkafka before 2.2 has no setting for it and is woken
  /// (``ClientHandle/wakeBrokers()``); later ones rest for a second, woken or not, unless told otherwise.
  private var fullQueueSettings: [(name: String, value: String)] {
    rd_kafka_version() >= 0x0202_0000 ? [("fetch.queue.backoff.ms", "5")] : []
  }

  private var producerSettings: [(name: String, value: String)] {
    [
      ("acks", "all"),
      ("enable.idempotence", "true"),
      // With more, a restarted broker may refuse one batch and, no longer knowing the producer, take the next; the
      // repeated one then counts as a duplicate, and 2.0.2 reports it delivered (librdkafka issue 4134; seen here: four
      // acknowledged records that no log had).
      ("max.in.flight.requests.per.connection", "1"),
      // Java's; only for whoever lets librdkafka choose: our sends always name the partition.
      ("partitioner", "murmur2_random"),
      // A record that timed out would leave a hole with later records behind it.
      ("message.timeout.ms", "0"),
      ("linger.ms", "\(lingerMilliseconds)"),
      // The topics hold records unpacked, so that nobody can send more than they seem: what is packed the broker unpacks.
      ("compression.type", "none"),
      ("message.max.bytes", "\(KafkaConfiguration.messageBytesMaximum)"),
      ("batch.num.messages", "10000"),
      // Above our own credit, so that librdkafka's queue is never what is full.
      ("queue.buffering.max.messages", "\(recordsInFlightMaximum + 1000)"),
      ("queue.buffering.max.kbytes", "2147483647"),
      ("delivery.report.only.error", "false"),
    ]
  }
}
