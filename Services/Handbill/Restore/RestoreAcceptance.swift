internal import AdCore
internal import AdEvents
internal import Kafka
internal import Operations
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Accepts that the database has lost commits: what the topics still hold is taken back, and everything goes on above it,
/// in a new timeline. All of it is one transaction.
struct RestoreAcceptance {
  let kafka: KafkaAddress
  let databaseURL: String
  /// What the topics hold is believed under these keys.
  let ring: KeyRing
  /// Why; it is kept.
  var reason = "accepted by a person"
  /// Nothing is changed.
  var isTrial = false

  private static let questionMilliseconds: Int32 = 30_000

  /// Blocks.
  func accept() throws -> RestoreResult {
    // Read first: what is in a topic is in the tables before, unless it was lost.
    let catalog = try CatalogTopic.read(kafka.configuration(clientID: "handbill-restore"), ring: ring)
    let told = try readMarks()
    let connection = try DatabaseAddress.connect(databaseURL)
    defer { connection.close() }
    let timelines = Timelines(connection)
    try connection.begin()
    var result = RestoreResult(
      isTrial: isTrial, catalog: try CatalogStore.takeBack(from: catalog, in: connection),
      losses: try timelines.losses(told))
    if !result.losses.isEmpty { result.timeline = try timelines.begin(told, reason: reason) }
    result.namedServes = try timelines.nameLostServes()
    result.serves = try LostServes.read(in: connection)
    if isTrial { try connection.rollback() } else { try connection.commit() }
    return result
  }

  /// The last word of each topic that services write for each other, in each partition.
  private func readMarks() throws -> [Timelines.Told] {
    let probe = try KafkaTopicProbe(configuration: kafka.configuration(clientID: "handbill-restore"))
    defer { probe.close(timeoutMilliseconds: 1_000) }
    let topics = Topic.sequenced.map(\.name)
    let counts = try probe.partitionCounts(of: topics, timeoutMilliseconds: Self.questionMilliseconds)
    let partitions = topics.flatMap { topic in
      (0..<(counts[topic] ?? 0)).map { KafkaTopicPartition(topic: topic, partition: $0) }
    }
    let marks = try probe.lastMarks(
      of: partitions, by: MessageMAC(ring: ring), isThorough: true, timeoutMilliseconds: Self.questionMilliseconds)
    return zip(partitions, marks).compactMap { partition, mark in
      mark.map { Timelines.Told(topic: partition.topic, partition: partition.partition, mark: $0) }
    }
  }
}
