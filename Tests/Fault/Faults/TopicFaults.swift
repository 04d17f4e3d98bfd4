import AdCore
import AdEvents
import ForeignClients
import Foundation
import Kafka
import Postgres
import TestServers
import TestValues

/// A client writes into the clients' topics in a transaction and leaves it open; later it commits one and gives another
/// up. Everybody else must be heard all the while.
struct OpenTransaction: Fault {
  let name = "open-transaction"
  let summary = "a client leaves transactions open in the clients' topics"
  let invariants = ["I1", "I3"]
  private static let records = 5

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    var open: [ForeignTransaction] = []
    for topic in [Topic.requests, .impressions, .clicks] {
      let transaction = try ForeignTransaction(
        bootstrapServers: network.kafka.bootstrapServers, id: "stranger-\(topic.name)", timeoutMilliseconds: 60_000)
      for _ in 0..<Self.records {
        let partition = Int32(chance.number(0...Int(network.needs.partitions) - 1))
        try transaction.write(topic: topic.name, partition: partition, value: Array("garbage".utf8))
      }
      network.addBadRecords(Self.records)
      open.append(transaction)
    }
    // Nothing waits for them: what was written behind them is decided while they are open.
    _ = try RecoveryWatch(network: network).measure(timeoutMilliseconds: 20_000)
    network.pause(milliseconds: chance.number(1_000...5_000))
    try open[0].commit()
    try open[1].abort()
    // The third is never ended: its client is gone, and the broker gives it up when its time is over.
  }
}

/// Everything that was ever written into the clients' topics for events is written again.
struct WholeReplay: Fault {
  let name = "whole-replay"
  let summary = "every event so far is written again"
  let invariants = ["I1", "I3", "I4", "I7"]

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let copier = try TopicCopier(network)
    defer { copier.close() }
    for topic in [Topic.impressions, .clicks].shuffled(using: &chance) {
      let ends = try copier.ends(topic)
      let count = try copier.copy(topic, before: ends)
      try network.wait("\(topic.name) to be decided", milliseconds: 60_000) {
        try copier.isDecided(topic, ends)
      }
      // What was rejected the first time is rejected the second time.
      let rejected = try copier.rejected(topic, before: ends)
      network.addBadRecords(rejected)
      network.note("\(topic.name): \(count) records written again, \(rejected) of them bad")
    }
  }
}

/// A topic between two services is deleted with all that it held and made again, and a person accepts the new log.
struct TopicMadeAgain: Fault {
  let name = "topic-made-again"
  let summary = "a topic between services is deleted and made again; log accept"
  let invariants = ["I3", "I5", "I7"]
  static let between: [Topic] = [.acceptedImpressions, .acceptedClicks, .budgets, .usage]

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let topic = Self.between[chance.number(0...Self.between.count - 1)]
    network.note("\(topic.name) is deleted")
    let admin = try KafkaAdmin(configuration: network.kafkaConfiguration("faults-admin"))
    defer { admin.close(timeoutMilliseconds: 1_000) }
    try admin.delete(topic: topic.name)
    network.pause(milliseconds: chance.number(0...3_000))
    let settings = topic.settings(networkPartitions: network.needs.partitions)
    let specification = KafkaTopicSpecification(
      name: settings.name, partitionCount: settings.partitions, settings: settings.configuration)
    try network.wait("\(topic.name) to be made again", milliseconds: 30_000) {
      (try? admin.ensure(specification)) == .created
    }
    network.pause(milliseconds: chance.number(2_000...6_000))
    // Some partitions may not have noticed yet: a person looks again until all is well.
    for _ in 0..<3 {
      try network.command(["log", "accept", "all"])
      network.pause(milliseconds: 2_000)
    }
  }
}

/// Retention removes what a consumer has not read yet.
struct RetentionPastConsumer: Fault {
  let name = "retention"
  let summary = "retention removes records between services before their consumer has read them"
  let invariants = ["I3", "I5", "I7"]
  private static let places: [(service: String, topics: [Topic])] = [
    ("billing", [.acceptedImpressions, .acceptedClicks, .usage]), ("click-tracking", [.acceptedImpressions]),
    ("ad-selection", [.budgets]),
  ]

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let place = Self.places[chance.number(0...Self.places.count - 1)]
    let consumer = try network.instance(place.service)
    consumer.freeze()
    defer { consumer.thaw() }
    network.pause(milliseconds: chance.number(3_000...6_000))
    let admin = try KafkaAdmin(configuration: network.kafkaConfiguration("faults-admin"))
    defer { admin.close(timeoutMilliseconds: 1_000) }
    let probe = try KafkaTopicProbe(configuration: network.kafkaConfiguration("faults-ends"))
    defer { probe.close(timeoutMilliseconds: 1_000) }
    for topic in place.topics {
      for partition in 0..<network.needs.partitions {
        let end = try probe.bounds(topic: topic.name, partition: partition, timeoutMilliseconds: 10_000).end
        if end > 0 { try admin.deleteRecords(topic: topic.name, partition: partition, before: end) }
      }
    }
    network.note("\(place.service) stood still while its topics between services were emptied")
  }
}

/// The network grows from 4 to 8 partitions, one topic after the other, under load.
struct PartitionGrowth: Fault {
  let name = "partition-growth"
  let summary = "topics grow from 4 to 8 partitions, one after the other"
  let invariants = ["I3", "I5", "I7"]
  let needs = NetworkNeeds(isUsedUp: true)
  private static let partitions: Int32 = 8

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let admin = try KafkaAdmin(configuration: network.kafkaConfiguration("faults-admin"))
    defer { admin.close(timeoutMilliseconds: 1_000) }
    let topics = Topic.networkSettings(networkPartitions: Self.partitions).filter { $0.partitions == Self.partitions }
    for topic in topics.shuffled(using: &chance) {
      _ = try admin.ensure(
        KafkaTopicSpecification(
          name: topic.name, partitionCount: topic.partitions, settings: topic.configuration))
      network.pause(milliseconds: chance.number(200...2_500))
    }
    try network.command(["topics", "create", "-p", "\(Self.partitions)"] + network.apps.flatMap { ["--app", $0] })
    // Clients and services look at the counts every ten seconds.
    try network.wait("all partitions to be owned", milliseconds: 60_000) {
      try FaultNetwork.services.allSatisfy { try Partitions(network, $0).epochs().count == Int(Self.partitions) }
    }
  }
}
