package import AdBasics
package import AdClient

/// How the client reaches Kafka and how patient it is. Every limit of the transport stands here.
package struct KafkaTransportSettings: Sendable {
  /// `host:port`, separated by commas.
  package var bootstrapServers: String
  /// The apps whose answers are read: one for a device, several for a fleet.
  package var apps: [AppID]
  /// True for librdkafka's mock cluster.
  package var isEmbedded = false
  /// The partition of the response topics that answers come to; nil picks one, for the life of the transport.
  package var replyPartition: Int32?
  /// How long a request waits for its answer.
  package var deadlineMilliseconds: Int64 = 10_000
  /// After this time without an answer a request is asked again, once, with the same id.
  package var askAgainMilliseconds: Int64 = 3_000
  /// The most requests that wait for answers at once.
  package var requestsMaximum = 100_000
  /// The most events that wait for the broker's acknowledgement at once.
  package var eventsMaximum = 100_000
  /// The most bytes of them.
  package var eventBytesMaximum = 64 * 1024 * 1024
  /// The first and the longest wait before the connection is built again.
  package var reconnectMilliseconds: ClosedRange<Int64> = 100...5_000
  /// How long the producer collects records before it sends.
  package var lingerMilliseconds = 5
  /// Hears when the connection changes.
  package var log: AdLog = { _ in }
  /// Further settings by librdkafka's names, such as `security.protocol`.
  package var properties: [String: String] = [:]

  package init(bootstrapServers: String, apps: [AppID]) {
    self.bootstrapServers = bootstrapServers
    self.apps = apps
  }
}

/// What a transport has done so far.
struct KafkaTransportCounts: Hashable, Sendable {
  /// Events dropped because the queue was full.
  var eventsRefused = 0
  /// Events that the broker will never take (too large).
  var eventsUndeliverable = 0
  /// Producers that failed; each was followed by another, which sent again what was not acknowledged.
  var producersLost = 0
  /// Answers for others, or for nobody any more.
  var answersDropped = 0
  /// The last reason why the connection was built again; empty while there was none.
  var lastProblem = ""
}
