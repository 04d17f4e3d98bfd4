import AdCore
import AdEvents
import Foundation
import Kafka
import Records
import Runtime
import Synchronization
import TestValues
import Threads

/// Sends requests at a fixed rate, whether answered or not, to several parties in turn, and measures how long each
/// answer takes: whatever the machine does meanwhile, it does to all of them. Each turn has an order of its own, so that
/// none always comes behind the same other.
struct RoundTrip: Sendable {
  /// Who answers requests.
  struct Party: Sendable {
    let requestTopic: String
    let responseTopic: String
    /// One request: its partition, value and headers besides the reply's.
    let request: @Sendable (_ number: Int) -> (partition: Int32, value: [UInt8], headers: [RecordHeader])
  }

  let configuration: KafkaConfiguration
  let parties: [Party]
  /// Of all parties together.
  let perSecond: Int
  let seconds: Int

  struct Latencies {
    var microseconds: [Int64] = []
    var unanswered = 0

    func quantile(_ share: Double) -> Double {
      let sorted = microseconds.sorted()
      guard !sorted.isEmpty else { return .nan }
      return Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]) / 1_000
    }
  }

  /// Each party's latencies.
  func measure() throws -> [Latencies] {
    let count = perSecond * seconds
    let order = order(count)
    let sent = SentTimes(count: count)
    let consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: [])
    try consumer.assign(
      parties.map {
        KafkaTopicPartitionOffset(topic: $0.responseTopic, partition: 0, offset: KafkaTopicPartitionOffset.end)
      })
    // The assignment to the end stands once an answer from before was not read; give it time.
    _ = try consumer.poll(timeoutMilliseconds: 1_000, recordsMaximum: 1) { _ in }
    let sender = OwnerThread("sender") { send(order, sent) }
    var latencies = Array(repeating: Latencies(), count: parties.count)
    var answered = 0
    let clock = SystemClock()
    let deadline = clock.monotonicMilliseconds + Int64(seconds) * 1_000 + 10_000
    while answered < count, clock.monotonicMilliseconds < deadline {
      _ = try consumer.poll(timeoutMilliseconds: 100, recordsMaximum: 1_000) { record in
        let now = clock.monotonicMicroseconds
        record.forEachHeader { name, value in
          guard name.elementsEqual("kafka_correlationId".utf8), let value, value.count == 8 else { return }
          let number = Int(UInt64(littleEndian: value.loadUnaligned(as: UInt64.self)))
          guard let started = sent.take(number) else { return }
          latencies[order[number]].microseconds.append(now - started)
          answered += 1
        }
      }
    }
    sender.join()
    consumer.close(timeoutMilliseconds: 1_000)
    for number in sent.rest { latencies[order[number]].unanswered += 1 }
    return latencies
  }

  /// Whom each request asks.
  private func order(_ count: Int) -> [Int] {
    var random = SeededChance(seed: 1)
    var order: [Int] = []
    while order.count < count { order += parties.indices.shuffled(using: &random) }
    return Array(order.prefix(count))
  }

  private func send(_ order: [Int], _ sent: SentTimes) {
    var configuration = configuration
    configuration.lingerMilliseconds = 0
    guard let producer = try? KafkaProducer(configuration: configuration, reports: { _ in }) else { return }
    defer { producer.close(timeoutMilliseconds: 5_000) }
    try? producer.warmUp(topics: parties.map(\.requestTopic), timeoutMilliseconds: 5_000)
    let clock = SystemClock()
    let pace = Pace(perSecond: perSecond)
    for (number, index) in order.enumerated() {
      pace.wait(for: number)
      let party = parties[index]
      let message = party.request(number)
      let correlation = withUnsafeBytes(of: UInt64(number).littleEndian) { Array($0) }
      let reply = CloudEventHeaders.reply(topic: party.responseTopic, partition: 0, correlationID: correlation)
      sent.note(number, clock.monotonicMicroseconds)
      try? producer.send(
        topic: party.requestTopic, partition: message.partition, key: nil, value: message.value,
        headers: message.headers + reply, reportID: 0)
    }
  }
}

/// When each request was sent, until its first answer.
final class SentTimes: Sendable {
  private let times: Mutex<[Int64]>

  init(count: Int) { times = Mutex(Array(repeating: 0, count: count)) }

  func note(_ number: Int, _ time: Int64) { times.withLock { $0[number] = time } }

  /// The numbers that have no answer.
  var rest: [Int] { times.withLock { times in times.indices.filter { times[$0] >= 0 } } }

  func take(_ number: Int) -> Int64? {
    times.withLock { times in
      guard times.indices.contains(number), times[number] > 0 else { return nil }
      defer { times[number] = -1 }
      return times[number]
    }
  }
}
