package import AdBasics

/// What a broker is told when a topic is made: plain values for whoever talks to it.
package struct TopicSettings: Hashable, Sendable {
  package var name: String
  package var partitions: Int32
  /// Kafka's topic configuration, by Kafka's names.
  package var configuration: [String: String]
  /// The times, in milliseconds, that its records are kept for where somebody has set one; nil where they are compacted.
  package var ownRetentions: ClosedRange<Int64>?
}

extension TopicSettings {
  /// Kafka's name for how long records are kept, in milliseconds; -1 is for ever.
  package static let retention = "retention.ms"
  fileprivate static let segmentMillisecondsMinimum: Int64 = 600_000

  /// Those for a topic that is there: the time that was set for it stays, where it may be, and how long a segment is
  /// written follows from it. Whoever set another time has a reason, such as an outage, and to shorten it deletes at once
  /// what nobody may have read yet.
  /// - Parameter own: what was set for this topic: nobody has chosen a broker's default for it.
  package func keepingRetention(of own: [String: String]) -> TopicSettings {
    guard let milliseconds = own[Self.retention].flatMap({ Int64($0) }), ownRetentions?.contains(milliseconds) == true
    else { return self }
    var settings = self
    settings.configuration.merge(Self.keeping(milliseconds: milliseconds)) { $1 }
    return settings
  }

  /// The longest time that docs/privacy.md promises, in milliseconds, where this one is longer; else nil.
  package func promise(brokenBy own: String) -> Int64? {
    guard let longest = ownRetentions?.upperBound, let milliseconds = Int64(own) else { return nil }
    return milliseconds < 0 || milliseconds > longest ? longest : nil
  }

  /// A record goes with its whole segment, and none that is still written goes: of Kafka's default size or age, a week's
  /// would stay for another.
  fileprivate static func keeping(milliseconds: Int64) -> [String: String] {
    [retention: String(milliseconds), "segment.ms": String(max(segmentMillisecondsMinimum, milliseconds / 24))]
  }
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
    return TopicSettings(
      name: name, partitions: partitions, configuration: configuration, ownRetentions: ownRetentionMilliseconds)
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
      configuration.merge(TopicSettings.keeping(milliseconds: retentionMilliseconds)) { $1 }
    }
    if cleanup == .compact {
      // What is written again and again is read whole by whoever starts: what it replaces goes within minutes, not once a
      // segment of Kafka's default size or age is full.
      configuration["segment.ms"] = String(TopicSettings.segmentMillisecondsMinimum)
      configuration["segment.bytes"] = String(64 << 20)
      configuration["min.cleanable.dirty.ratio"] = "0.1"
      configuration["max.compaction.lag.ms"] = "600000"
    }
    return configuration
  }
}
