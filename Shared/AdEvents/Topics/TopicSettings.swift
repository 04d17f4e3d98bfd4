package import AdBasics

/// What a broker is told when a topic is made: plain values for whoever talks to it.
package struct TopicSettings: Hashable, Sendable {
  package var name: String
  package var partitions: Int32
  /// Kafka's topic configuration, by Kafka's names.
  package var configuration: [String: String]
}

extension TopicSettings {
  /// With so many copies of each record, two must have it before it is confirmed.
  package static let copiesForTwo: Int32 = 3

  /// As it is to be kept in so many copies: the loss of one broker then neither loses a record nor stops a writer.
  package func kept(inCopies replicationFactor: Int32) -> TopicSettings {
    guard replicationFactor >= Self.copiesForTwo else { return self }
    var settings = self
    settings.configuration["min.insync.replicas"] = "2"
    return settings
  }
}

extension Topic {
  /// How to make it; for ``responses``, see ``responseSettings(for:networkPartitions:)``.
  /// - Parameter networkPartitions: the network's partition count.
  package func settings(networkPartitions: Int32) -> TopicSettings {
    let partitions: Int32 =
      switch partitionRule {
      case .network: networkPartitions
      case .fixed(let count): count
      }
    return TopicSettings(name: name, partitions: partitions, configuration: configuration)
  }

  /// How to make the topic of one app's answers.
  package static func responseSettings(for app: AppID, networkPartitions: Int32) -> TopicSettings {
    responseSettings(named: responses(for: app), networkPartitions: networkPartitions)
  }

  private static func responseSettings(named name: String, networkPartitions: Int32) -> TopicSettings {
    var settings = Topic.responses.settings(networkPartitions: networkPartitions)
    settings.name = name
    return settings
  }

  /// The settings of all topics that there are whatever apps there are.
  package static func networkSettings(networkPartitions: Int32) -> [TopicSettings] {
    allCases.filter { $0 != .responses }.map { $0.settings(networkPartitions: networkPartitions) }
      + [responseSettings(named: edgeResponses, networkPartitions: networkPartitions)]
  }

  private static let segmentMillisecondsMinimum: Int64 = 600_000

  /// Kafka's topic configuration.
  package var configuration: [String: String] {
    var configuration = [
      "cleanup.policy": cleanup.rawValue,
      "max.message.bytes": String(batchBytesMaximum),
      "message.timestamp.type": isWrittenByClients ? "LogAppendTime" : "CreateTime",
      // A leader that lacks records would take them from everybody.
      "unclean.leader.election.enable": "false",
      // The broker then unpacks what is sent, whoever sends it, and holds it to `max.message.bytes` unpacked: a few kilobytes
      // that are gigabytes in truth go to no reader.
      "compression.type": "uncompressed",
    ]
    if let retentionMilliseconds {
      configuration["retention.ms"] = String(retentionMilliseconds)
      // A record goes with its whole segment, and none that is still written goes: of Kafka's default size or age, a week's
      // would stay for another.
      configuration["segment.ms"] = String(max(Self.segmentMillisecondsMinimum, retentionMilliseconds / 24))
    }
    if cleanup == .compact {
      // What is written again and again is read whole by whoever starts: what it replaces goes within minutes, not once a
      // segment of Kafka's default size or age is full.
      configuration["segment.ms"] = String(Self.segmentMillisecondsMinimum)
      configuration["segment.bytes"] = String(64 << 20)
      configuration["min.cleanable.dirty.ratio"] = "0.1"
      configuration["max.compaction.lag.ms"] = "600000"
    }
    return configuration
  }
}
