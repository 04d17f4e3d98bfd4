internal import AdCore
internal import AdEvents
internal import JSON
internal import Kafka
internal import Runtime

/// The network's topics on a broker, made from the topics' table.
struct NetworkTopics: Sendable {
  /// One topic and what became of it.
  struct Result: Sendable {
    let topic: String
    let partitions: Int32
    /// `created`, `existed`, `grown`, and what was set otherwise; on an embedded broker, which does not tell which, `there`.
    let outcome: String
    /// How the time that was set to keep its records differed from the table's, and what became of that; nil where it did not.
    let note: String?

    var json: JSONValue {
      [
        "note": .optional(note), "outcome": .text(outcome), "partitions": .integer(partitions), "topic": .text(topic),
      ]
    }
  }

  let kafka: KafkaAddress
  /// The network's partition count.
  let partitions: Int32

  /// With as many partitions as are given; else as the network has by now, so that what is made fits what is there; else
  /// as many as a new one gets. Of an embedded broker nothing is known but what is given.
  ///
  /// Blocks. Throws where the brokers do not answer.
  static func find(on kafka: KafkaAddress, partitions: Int32?) throws(KafkaError) -> NetworkTopics {
    let new = NetworkTopics(kafka: kafka, partitions: partitions ?? TopicsCommand.partitionsDefault)
    guard partitions == nil, !kafka.isEmbedded else { return new }
    // Only those that follow the network's count: one that has a count of its own may have been made with more.
    let counts = try new.counts(new.settings(apps: []).filter { $0.partitions == new.partitions })
    return NetworkTopics(kafka: kafka, partitions: counts.values.max() ?? TopicsCommand.partitionsDefault)
  }

  /// All topics of the network with a response topic for each app.
  func settings(apps: [AppID]) -> [TopicSettings] {
    Topic.networkSettings(networkPartitions: partitions)
      + apps.map { Topic.responseSettings(for: $0, networkPartitions: partitions) }
  }

  /// Makes what is missing; a topic that is there gets more partitions if it has fewer, and the settings of the table, but
  /// for a time to keep records that was set for it and may be, unless that is to be reset. Others that people have made stay.
  ///
  /// Blocks.
  func make(
    _ settings: [TopicSettings], replicationFactor: Int32 = -1, isRetentionReset: Bool = false
  ) throws -> [Result] {
    if let socket = kafka.controlSocket {
      let control = EmbeddedBrokerControl(socketPath: socket)
      for topic in settings { try control.createTopic(topic.name, partitions: topic.partitions) }
      return settings.map { Result(topic: $0.name, partitions: $0.partitions, outcome: "there", note: nil) }
    }
    if kafka.isEmbedded {
      throw UsageError("an embedded broker makes topics only through its control socket: give --kafka-control-socket")
    }
    let admin = try KafkaAdmin(configuration: kafka.configuration(clientID: "handbill-topics"))
    defer { admin.close(timeoutMilliseconds: 1_000) }
    var results: [Result] = []
    for topic in settings {
      let outcome = try admin.ensure(
        KafkaTopicSpecification(
          name: topic.name, partitionCount: topic.partitions, replicationFactor: replicationFactor,
          settings: topic.configuration))
      if outcome == .created {
        results.append(Result(topic, outcome))
        continue
      }
      let own = try admin.settings(of: topic.name, onlyOwn: true)
      let wanted = isRetentionReset ? topic : topic.keepingRetention(of: own)
      let changed = try admin.bring(topic.name, to: wanted.configuration)
      results.append(Result(topic, outcome, changed: changed, note: Self.note(topic, brought: wanted, own: own)))
    }
    return results
  }

  private static func note(_ topic: TopicSettings, brought: TopicSettings, own: [String: String]) -> String? {
    let name = TopicSettings.retention
    guard let usual = topic.configuration[name], let found = own[name], found != usual else { return nil }
    if brought.configuration[name] == found {
      return "\(name) stays \(found), not \(usual): --reset-retention sets it"
    }
    let promise = topic.promise(brokenBy: found).map { ": docs/privacy.md promises at most \($0)" }
    return "\(name) was \(found)\(promise ?? "")"
  }

  /// How a topic lies on the brokers; throws `unknownTopic`.
  ///
  /// Blocks.
  static func shape(of topic: Topic, _ kafka: KafkaAddress) throws(KafkaError) -> KafkaTopicShape {
    let admin = try KafkaAdmin(configuration: kafka.configuration(clientID: "handbill-topics"))
    defer { admin.close(timeoutMilliseconds: 1_000) }
    return try admin.shape(topic: topic.name)
  }

  /// The partition counts as the broker has them; nil for a topic that is not there.
  ///
  /// Blocks.
  func counts(_ settings: [TopicSettings]) throws(KafkaError) -> [String: Int32] {
    let probe = try KafkaTopicProbe(configuration: kafka.configuration(clientID: "handbill-topics"))
    defer { probe.close(timeoutMilliseconds: 1_000) }
    var counts: [String: Int32] = [:]
    for topic in settings {
      do throws(KafkaError) {
        counts[topic.name] = try probe.partitionCount(topic: topic.name, timeoutMilliseconds: 10_000)
      } catch {
        guard error.kind == .unknownTopic else { throw error }
      }
    }
    return counts
  }
}

extension NetworkTopics.Result {
  fileprivate init(
    _ settings: TopicSettings, _ outcome: KafkaTopicOutcome, changed: [String] = [], note: String? = nil
  ) {
    let changes = changed.isEmpty ? "" : ", changed: \(changed.joined(separator: ", "))"
    switch outcome {
    case .created: self.init(topic: settings.name, partitions: settings.partitions, outcome: "created", note: note)
    case .existed(let count):
      self.init(topic: settings.name, partitions: count, outcome: "existed\(changes)", note: note)
    case .grown(let old, let new):
      self.init(topic: settings.name, partitions: new, outcome: "grown from \(old)\(changes)", note: note)
    }
  }
}
