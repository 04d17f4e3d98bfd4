import AdCore
import AdEvents
import Foundation
import Kafka
import Pipeline
import Postgres
import Runtime
import Synchronization
import TestValues

/// Strangers write what they like into every topic, as fast as it is decided, while good devices go on. Every offset has
/// exactly one outcome, what no decoder takes has the decoder's own reason, memory stays flat, and the devices' tally
/// does not differ by one.
struct FuzzedMessages: Fault {
  let name = "fuzzed-messages"
  let summary = "strangers write what they like into every topic: FUZZED_MESSAGES (4,000) records"
  let invariants = ["I1", "I2", "I3", "I6", "I7"]
  /// How many are written.
  let count: Int
  /// How many may wait for their decision: more would only make good devices wait.
  private static let waitingMaximum = 20_000
  private static let decidedMilliseconds: Int64 = 120_000
  /// From how many on the services have been at work for long enough to judge their memory.
  private static let judgedCount = 200_000
  /// What stays in use in the last quarter is at most so many hundredths of what stayed in the second, when every buffer
  /// of a fixed size had been used already, or so much more: tables by client and serve still fill with the good
  /// devices' traffic. A service reads about a third of all messages: of a million, 16 bytes kept of each that came
  /// between those quarters would be more.
  private static let flatPercent = 110
  private static let flatBytes = 2 << 20
  /// The most that may be resident.
  private static let residentBytesMaximum = 256 << 20

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    network.expectStrangers()
    let connection = try network.connection()
    defer { connection.close() }
    let before = try StrangerOutcomes.lastBatches(connection)
    let genuine = try GenuineTokens(network)
    try network.wait("tokens", milliseconds: 60_000) { genuine.last.count >= 20 }
    let memory = MemoryWatch(network)
    let clock = SystemClock()
    let began = clock.monotonicMilliseconds
    let written = try write(to: network, genuine, seed: chance.next())
    try genuine.stop()
    _ = try RecoveryWatch(network: network).measure(timeoutMilliseconds: Self.decidedMilliseconds)
    let seconds = max(1, (clock.monotonicMilliseconds - began) / 1_000)
    let memories = memory.stop()
    network.note("\(written.count) written and decided in \(seconds) s: \(Int64(written.count) / seconds) a second")
    for memory in memories { network.note(memory.text) }
    try check(written, StrangerOutcomes(connection, after: before), in: network)
    guard count >= Self.judgedCount else { return }
    for memory in memories {
      guard memory.used[3] <= max(memory.used[1] * Self.flatPercent / 100, memory.used[1] + Self.flatBytes),
        memory.resident.allSatisfy({ $0 <= Self.residentBytesMaximum })
      else { throw FaultFailure("memory grew. \(memory.text)") }
    }
  }

  /// One record that was written: where it lies, and what decoding says of it.
  private struct Written {
    let topic: Topic
    let partition: Int32
    let expected: RejectionReason?
    /// It may be sent on to the partition where it is rejected.
    let mayBeForwarded: Bool
    var offset: Int64 = -1
  }

  private func write(to network: FaultNetwork, _ genuine: GenuineTokens, seed: UInt64) throws -> [Written] {
    let offsets = Mutex([Int64](repeating: -1, count: count))
    // What client or broker refuse, for its size, is not written: others go on.
    let producer = try KafkaProducer(
      configuration: network.kafkaConfiguration("strangers"), isExpendable: { _ in true },
      reports: { reports in
        offsets.withLock { offsets in for report in reports { offsets[Int(report.reportID)] = report.offset } }
      })
    defer { producer.abort() }
    try producer.warmUp(topics: Topic.allCases.filter { $0 != .responses }.map(\.name), timeoutMilliseconds: 10_000)
    var messages = try StrangerMessages(partitions: network.needs.partitions, seed: seed)
    var written: [Written] = []
    written.reserveCapacity(count)
    let connection = try network.connection()
    defer { connection.close() }
    let before = try decided(connection)
    var tokens = genuine.last
    for number in 0..<count {
      if number % 1_000 == 999 {
        tokens = genuine.last
        try network.wait("strangers' records to be decided", milliseconds: Self.decidedMilliseconds) {
          try decided(connection) - before > Int64(number - Self.waitingMaximum)
        }
        if number % 50_000 == 49_999 { network.note("\(number + 1) of \(count) written") }
      }
      let record = try messages.next(tokens: tokens, now: SystemClock().now)
      written.append(
        Written(
          topic: record.topic, partition: record.partition, expected: StrangerExpectation.reason(of: record),
          mayBeForwarded: StrangerExpectation.isOfClient(record)))
      do throws(KafkaError) {
        try producer.send(
          topic: record.topic.name, partition: record.partition, key: record.key, value: record.value,
          headers: record.headers, reportID: UInt64(number), timeoutMilliseconds: 60_000)
      } catch {
        if error.kind != .recordRefused { throw error }
      }
    }
    guard producer.close(timeoutMilliseconds: 60_000) else { throw FaultFailure("not everything was written") }
    offsets.withLock { offsets in for index in written.indices { written[index].offset = offsets[index] } }
    return written
  }

  /// How many offsets of all inputs lie before the services' positions.
  private func decided(_ connection: PostgresConnection) throws -> Int64 {
    let parts = ["ad_selection", "impression_tracking", "click_tracking", "billing"].map {
      "SELECT next_offset FROM \($0).input"
    }
    let sql = "SELECT coalesce(sum(next_offset), 0)::bigint FROM (\(parts.joined(separator: " UNION ALL "))) AS inputs"
    return try connection.query(sql)[0].decode(0)
  }

  private func check(_ written: [Written], _ outcomes: StrangerOutcomes, in network: FaultNetwork) throws {
    var refused = 0
    let unwritten = written.count { $0.offset < 0 }
    guard unwritten * 50 <= written.count else { throw FaultFailure("\(unwritten) records were not written") }
    for record in written where StrangerOutcomes.isKept(record.topic) && record.offset >= 0 {
      let place = "\(record.topic.name)[\(record.partition)]@\(record.offset)"
      guard let outcome = outcomes.outcome(record.topic, record.partition, record.offset) else {
        throw FaultFailure("\(place) has no outcome")
      }
      guard let expected = record.expected else { continue }
      refused += 1
      if record.mayBeForwarded, outcome == Outcome.forwarded.rawValue { continue }
      if outcome != expected.rawValue {
        throw FaultFailure("\(place) has outcome \(outcome), the decoder says \(expected) (\(expected.rawValue))")
      }
    }
    network.note("\(refused) of them no decoder takes, and each has the decoder's own reason")
  }
}
