import AdCore
import AdEvents
import Foundation
import Kafka
import LocalProcesses
import Postgres
import Runtime
import TestServers
import TestValues

/// A broker comes back without the end of a log that everybody had read, and clients fill it again: what has the offsets of
/// what was cut must not be stepped over.
struct LogCut: Fault {
  let name = "log-cut"
  let summary = "a broker comes back without the end of logs, and clients fill them again; log accept"
  let invariants = ["I3", "I5", "I7"]
  let needs = NetworkNeeds(isUsedUp: true)
  let bringsDevices = true
  private static let visitsPerSecond = 60
  private static let busyMilliseconds = 5_000...7_000
  private static let readers: [(topic: Topic, service: String)] = [
    (.requests, "ad-selection"), (.impressions, "impression-tracking"), (.clicks, "click-tracking"),
  ]
  private static let restMilliseconds = 3_000
  private static let noticeMilliseconds: Int64 = 60_000

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    // Nothing is on its way when the broker ends: what was confirmed, and no more, is known to have been written.
    let first = try Devices(in: network, number: 1, seed: 1, visitsPerSecond: Self.visitsPerSecond)
    network.pause(milliseconds: chance.number(Self.busyMilliseconds))
    try first.stop()
    try network.command(["drain", "--timeout", "60s"])
    network.kafka.killAndWait()
    var cut: [(service: String, partitions: [Int32])] = []
    for (topic, service) in Self.readers {
      let partitions = try cutLogs(of: topic, service, in: network, &chance)
      network.note("\(topic.name): partitions \(partitions) were cut")
      cut.append((service, partitions))
    }
    let count = cut.reduce(0) { $0 + $1.partitions.count }
    guard count > 0 else { throw FaultFailure("no log was read to its end") }
    try network.kafka.startAndWait()
    let second = try Devices(in: network, number: 2, seed: 2, visitsPerSecond: Self.visitsPerSecond)
    for (service, partitions) in cut {
      let reader = try network.instance(service)
      try network.wait("\(service) to stop partitions \(partitions)", milliseconds: Self.noticeMilliseconds) {
        let stopped = reader.lastWords(.max).filter { $0.contains(#""kind":"log_replaced""#) }
        return partitions.allSatisfy { partition in stopped.contains { $0.contains("\"partition\":\(partition),") } }
      }
    }
    let said = try network.command(["log", "accept", "all"])
    let accepted = said.output.split(separator: "\n").count { $0.contains("it goes on at") }
    guard accepted == count else { throw FaultFailure("\(count) logs were cut: \(said.output)") }
    try network.awaitReadiness()
    network.pause(milliseconds: Self.restMilliseconds)
    try second.stop()
    try network.keepTally(of: [first.tallyPath, second.tallyPath])
  }

  /// - Returns: the partitions whose logs have lost their end.
  private func cutLogs(
    of topic: Topic, _ service: String, in network: FaultNetwork, _ chance: inout SeededChance
  ) throws -> [Int32] {
    let connection = try network.connection()
    defer { connection.close() }
    let schema = service.replacing("-", with: "_")
    let rows = try connection.query(
      "SELECT partition, next_offset FROM \(schema).input WHERE topic = $1 ORDER BY partition", [topic.name])
    var cut: [Int32] = []
    for row in rows {
      let partition: Int32 = try row.decode(0)
      var segment = try LogSegment(of: topic, partition, in: network.kafka.brokers[0].configuration.folder)
      // What nobody has read would be lost for good.
      guard segment.end == (try row.decode(1, Int64.self)), segment.batches > 1 else { continue }
      try segment.cut(batches: chance.number(1...segment.batches))
      cut.append(partition)
    }
    return cut
  }
}

/// The file that holds a partition's log, whose broker has ended.
private struct LogSegment {
  private let path: String
  /// Where each batch begins, and the offset after its last record.
  private var starts: [(position: Int, end: Int64)] = []

  var batches: Int { starts.count }
  var end: Int64 { starts.last?.end ?? 0 }

  private static let headerBytes = 61
  private static let lengthAt = 8
  private static let lastOffsetDeltaAt = 23
  /// Offset and length stand before what the length counts.
  private static let prefixBytes = 12

  init(of topic: Topic, _ partition: Int32, in folder: String) throws {
    let name = "\(topic.name)-\(partition)/00000000000000000000.log"
    guard
      let found = FileManager.default.enumerator(atPath: folder)?.first(where: {
        ($0 as? String)?.hasSuffix(name) == true
      })
    else { throw FaultFailure("there is no \(name)") }
    path = "\(folder)/\(found)"
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    func number<Value: FixedWidthInteger>(_ type: Value.Type, at position: Int) -> Value {
      bytes[position..<position + MemoryLayout<Value>.size].reduce(0) { $0 << 8 | Value(truncatingIfNeeded: $1) }
    }
    var position = 0
    while position + Self.headerBytes <= bytes.count {
      let length = Int(number(Int32.self, at: position + Self.lengthAt))
      guard length > 0, position + Self.prefixBytes + length <= bytes.count else { break }
      let last = number(Int64.self, at: position) + Int64(number(Int32.self, at: position + Self.lastOffsetDeltaAt))
      starts.append((position, last + 1))
      position += Self.prefixBytes + length
    }
  }

  /// Takes the last batches away, as a power cut does before they are on the disk.
  mutating func cut(batches count: Int) throws {
    let first = starts.count - count
    guard truncate(path, off_t(starts[first].position)) == 0 else { throw FaultFailure("\(path) cannot be cut") }
    starts.removeLast(count)
  }
}

/// Records of clients are deleted before their service has read them: they are recorded as lost, each of them.
struct RecordsDeleted: Fault {
  let name = "records-deleted"
  let summary = "records of clients are deleted before they are read: each is recorded as lost"
  let invariants = ["I3"]
  let bringsDevices = true
  /// In one batch.
  private static let records = 20
  /// Batches that come while nobody reads: the answer to a question of before may have the first.
  private static let unread = 4

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let startedAt = SystemClock().now
    let partition = Int32(chance.number(0...Int(network.needs.partitions) - 1))
    let (topic, schema) = (Topic.impressions, "impression_tracking")
    let consumer = try network.instance("impression-tracking")
    let connection = try network.connection()
    defer { connection.close() }
    func number(_ sql: String) throws -> Int64 { try connection.query(sql, [partition]).first?.decode(0) ?? 0 }
    let lostOffsets =
      "SELECT coalesce(sum(next_offset - first_offset), 0)::bigint FROM \(schema).lost_range WHERE partition = $1"
    let rejected = "SELECT count(*) FROM \(schema).rejected WHERE partition = $1"
    let before = (lost: try number(lostOffsets), rejected: try number(rejected))
    try write(topic, partition, network)
    _ = try RecoveryWatch(network: network).measure(timeoutMilliseconds: 30_000)
    consumer.freeze()
    defer { consumer.thaw() }
    for _ in 0..<Self.unread { try write(topic, partition, network) }
    let admin = try KafkaAdmin(configuration: network.kafkaConfiguration("faults-admin"))
    defer { admin.close(timeoutMilliseconds: 1_000) }
    let probe = try KafkaTopicProbe(configuration: network.kafkaConfiguration("faults-ends"))
    defer { probe.close(timeoutMilliseconds: 1_000) }
    let end = try probe.bounds(topic: topic.name, partition: partition, timeoutMilliseconds: 10_000).end
    try admin.deleteRecords(topic: topic.name, partition: partition, before: end)
    consumer.thaw()
    try write(topic, partition, network)
    _ = try RecoveryWatch(network: network).measure(timeoutMilliseconds: 30_000)
    let lost = try number(lostOffsets) - before.lost
    let decided = try number(rejected) - before.rejected
    network.note("\(lost) records are recorded as lost, \(decided) were rejected")
    let written = (2 + Self.unread) * Self.records
    guard lost > 0, lost + decided == Int64(written) else {
      throw FaultFailure("\(lost) are lost and \(decided) rejected of \(written)")
    }
    network.addBadRecords(Int(decided))
    try network.keepTally(startedAt: startedAt, requests: 0, viewed: 0)
  }

  /// Writes what no decoder takes.
  private func write(_ topic: Topic, _ partition: Int32, _ network: FaultNetwork) throws {
    let producer = try KafkaProducer(configuration: network.kafkaConfiguration("faults-records")) { _ in }
    for number in 0..<Self.records {
      try producer.send(
        topic: topic.name, partition: partition, key: nil, value: Array("no event \(number)".utf8), reportID: 0)
    }
    guard producer.close(timeoutMilliseconds: 20_000) else { throw FaultFailure("records were not written") }
  }
}

/// A topic that clients write loses our settings, as where a broker makes topics by itself: services say so, and `handbill
/// topics create` mends it.
struct UnstampedTopic: Fault {
  let name = "unstamped-topic"
  let summary = "a topic of clients has message.timestamp.type=CreateTime: it is said, and topics create mends it"
  let invariants = ["I3", "I5", "I7"]
  private static let noticeMilliseconds: Int64 = 30_000
  private static let setting = "message.timestamp.type"

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let admin = try KafkaAdmin(configuration: network.kafkaConfiguration("faults-admin"))
    defer { admin.close(timeoutMilliseconds: 1_000) }
    _ = try admin.bring(Topic.impressions.name, to: [Self.setting: "CreateTime"])
    let service = try network.instance("impression-tracking")
    func says(_ words: String) -> Bool {
      service.lastWords(.max).contains { $0.contains(words) && $0.contains(Self.setting) }
    }
    try network.wait("the reader to say that records lack the broker's time", milliseconds: Self.noticeMilliseconds) {
      says("records count as having arrived when they are read")
    }
    service.kill()
    try network.wait("the next process to say it at its start", milliseconds: Self.noticeMilliseconds) {
      says("a topic is not set as it must be")
    }
    try network.command(["topics", "create", "-p", "\(network.needs.partitions)"])
    guard try admin.settings(of: Topic.impressions.name, timeoutMilliseconds: 10_000)[Self.setting] == "LogAppendTime"
    else { throw FaultFailure("topics create did not mend it") }
  }
}
