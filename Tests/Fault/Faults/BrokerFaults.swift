import AdCore
import Glibc
import LocalProcesses
import TestServers
import TestValues

/// The only broker ends like by a power cut and comes back, twice.
struct BrokerRestart: Fault {
  let name = "broker-restart"
  let summary = "the broker is killed and started again, twice"
  let invariants = ["I3", "I5", "I7"]

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let broker = network.kafka.brokers[0]
    for _ in 0..<2 {
      broker.killAndWait()
      network.pause(milliseconds: chance.number(0...3_000))
      try broker.startAndWait()
      network.pause(milliseconds: chance.number(500...3_000))
    }
  }
}

/// The only broker ends in order, as for an update, and comes back.
struct BrokerUpdate: Fault {
  let name = "broker-update"
  let summary = "the broker ends in order and is started again"
  let invariants = ["I3", "I5", "I7"]

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    network.kafka.brokers[0].stopAndWait()
    network.pause(milliseconds: chance.number(0...2_000))
    try network.kafka.brokers[0].startAndWait()
  }
}

/// No partition has a leader for longer than clients usually wait.
struct LongWithoutLeader: Fault {
  let name = "long-without-leader"
  let summary: String
  let invariants = ["I3", "I5", "I7"]
  /// librdkafka gives a record up after 300 s unless it is told otherwise.
  static let longMilliseconds = 310_000
  static let shortMilliseconds = 40_000
  private let milliseconds: Int

  init(isLong: Bool) {
    milliseconds = isLong ? Self.longMilliseconds : Self.shortMilliseconds
    summary = "no partition has a leader for \(milliseconds / 1_000) s"
  }

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    network.kafka.brokers[0].killAndWait()
    network.pause(milliseconds: milliseconds)
    try network.kafka.brokers[0].startAndWait()
  }
}

/// One of three brokers is lost, with every partition that it led, and comes back; then another.
struct LeaderLoss: Fault {
  let name = "leader-loss"
  let summary = "one of three brokers is killed, then another"
  let invariants = ["I3", "I5", "I7"]
  let needs = NetworkNeeds(brokers: 3)

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    for broker in network.kafka.brokers.shuffled(using: &chance).prefix(2) {
      broker.killAndWait()
      network.pause(milliseconds: chance.number(3_000...8_000))
      try broker.startAndWait()
      network.pause(milliseconds: chance.number(2_000...5_000))
    }
  }
}

/// Two of three brokers are lost: nothing can be acknowledged, and nothing may be taken for acknowledged.
struct QuorumLoss: Fault {
  let name = "quorum-loss"
  let summary = "two of three brokers are killed, and come back after a while"
  let invariants = ["I3", "I5", "I7"]
  let needs = NetworkNeeds(brokers: 3)

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    for broker in network.kafka.brokers.shuffled(using: &chance).prefix(2) { broker.killAndWait() }
    network.pause(milliseconds: chance.number(4_000...12_000))
    try network.kafka.startAndWait()
  }
}

/// A broker stands still: connections stay open and nothing answers.
struct FrozenBroker: Fault {
  let name = "frozen-broker"
  let summary = "SIGSTOP of one of three brokers beyond its session, SIGCONT"
  let invariants = ["I3", "I5", "I7"]
  let needs = NetworkNeeds(brokers: 3)

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let broker = network.kafka.brokers[chance.number(0...2)]
    broker.signal(SIGSTOP)
    defer { broker.signal(SIGCONT) }
    network.pause(milliseconds: chance.number(10_000...15_000))
  }
}

/// The broker's disk is full for a while.
struct BrokerDiskFull: Fault {
  let name = "broker-disk-full"
  let summary = "the broker's disk is full for some seconds"
  let invariants = ["I3", "I5", "I7"]
  let needs = NetworkNeeds(brokerMegabytes: 400, isUsedUp: true)
  var reasonSkipped: String? { SmallDisk.reasonMissing }

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let disk = try network.disk()
    try disk.fill()
    network.pause(milliseconds: chance.number(5_000...12_000))
    let broker = network.kafka.brokers[0]
    network.note("the broker \(broker.isRunning ? "still runs" : "has ended")")
    disk.free()
    // A broker that could not write has given its only log folder up, even where it still runs.
    broker.killAndWait()
    try broker.startAndWait()
  }
}
