import AdCore
import AdEvents
import Foundation
import Kafka
import Records
import Runtime
import Synchronization
import TestValues
import Threads

/// Sends requests to several parties in turn, and measures how long each answer takes: whatever the machine does meanwhile, it
/// does to all of them. Each turn has an order of its own, so that none always comes behind the same other. They come at a
/// fixed rate, whether answered or not, or as fast as answers do.
struct RoundTrip: Sendable {
  /// Who answers requests.
  struct Party: Sendable {
    enum Way: Sendable {
      /// One request: its partition, value and headers besides the reply's.
      case kafka(
        requestTopic: String, responseTopic: String,
        request: @Sendable (_ number: Int) -> (partition: Int32, value: [UInt8], headers: [RecordHeader]))
      /// One request's body; whatever is not answered by 200 is not answered.
      case http(port: Int, path: String, request: @Sendable (_ number: Int) -> [UInt8])
    }

    let way: Way
  }

  enum Load: Sendable {
    /// Of all parties together.
    case perSecond(Int)
    /// So many are under way at a time.
    case underWay(Int)
  }

  let configuration: KafkaConfiguration
  let parties: [Party]
  let load: Load
  let seconds: Int
  /// Connections to a party that speaks HTTP.
  private static let connections = 64
  /// More than any party answers in a second.
  private static let answersPerSecondMaximum = 50_000

  struct Latencies: Sendable {
    var microseconds: [Int64] = []
    var unanswered = 0

    func quantile(_ share: Double) -> Double {
      let sorted = microseconds.sorted()
      guard !sorted.isEmpty else { return .nan }
      return Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]) / 1_000
    }
  }

  /// What has come so far.
  private struct Progress {
    var latencies: [Latencies]
    var sent = 0
    var answered = 0
    var isAllSent = false
  }

  /// What one measurement goes by.
  private final class Trip: Sendable {
    let order: [Int]
    let times: SentTimes
    let progress: Monitor<Progress>

    init(order: [Int], parties: Int) {
      self.order = order
      times = SentTimes(count: order.count)
      progress = Monitor(Progress(latencies: Array(repeating: Latencies(), count: parties)))
    }

    func answered(_ number: Int, at now: Int64) {
      guard let started = times.take(number) else { return }
      progress.update { progress in
        progress.latencies[order[number]].microseconds.append(now - started)
        progress.answered += 1
      }
    }
  }

  /// Each party's latencies.
  func measure() throws -> [Latencies] {
    let count =
      switch load {
      case .perSecond(let perSecond): perSecond * seconds
      case .underWay: Self.answersPerSecondMaximum * seconds
      }
    let trip = Trip(order: order(count), parties: parties.count)
    let consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: [])
    try consumer.assign(
      parties.compactMap { party in
        guard case .kafka(_, let topic, _) = party.way else { return nil }
        return KafkaTopicPartitionOffset(topic: topic, partition: 0, offset: KafkaTopicPartitionOffset.end)
      })
    // The assignment to the end stands once an answer from before was not read; give it time.
    _ = try consumer.poll(timeoutMilliseconds: 1_000, recordsMaximum: 1) { _ in }
    let connections = try connect(trip)
    let readers = connections.values.map { requests in OwnerThread("http-reader") { requests.read() } }
    let sender = OwnerThread("sender") { send(trip, connections) }
    let clock = SystemClock()
    let deadline = clock.monotonicMilliseconds + Int64(seconds) * 1_000 + 10_000
    while clock.monotonicMilliseconds < deadline, !trip.progress.withLock({ $0.isAllSent && $0.answered == $0.sent }) {
      _ = try consumer.poll(timeoutMilliseconds: 100, recordsMaximum: 1_000) { record in
        let now = clock.monotonicMicroseconds
        record.forEachHeader { name, value in
          guard name.elementsEqual("kafka_correlationId".utf8), let value, value.count == 8 else { return }
          trip.answered(Int(UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))), at: now)
        }
      }
    }
    for requests in connections.values { requests.close() }
    for thread in [sender] + readers { thread.join() }
    consumer.close(timeoutMilliseconds: 1_000)
    var latencies = trip.progress.withLock { $0.latencies }
    for number in trip.times.rest { latencies[trip.order[number]].unanswered += 1 }
    return latencies
  }

  /// Whom each request asks.
  private func order(_ count: Int) -> [Int] {
    var random = SeededChance(seed: 1)
    var order: [Int] = []
    while order.count < count { order += parties.indices.shuffled(using: &random) }
    return Array(order.prefix(count))
  }

  /// By the place of the party.
  private func connect(_ trip: Trip) throws -> [Int: HTTPRequests] {
    var connections: [Int: HTTPRequests] = [:]
    for (index, party) in parties.enumerated() {
      guard case .http(let port, let path, _) = party.way else { continue }
      connections[index] = try HTTPRequests(port: port, path: path, connections: Self.connections) { number, status in
        if status == 200 { trip.answered(number, at: SystemClock().monotonicMicroseconds) }
      }
    }
    return connections
  }

  private func send(_ trip: Trip, _ connections: [Int: HTTPRequests]) {
    defer { trip.progress.update { $0.isAllSent = true } }
    var configuration = configuration
    configuration.lingerMilliseconds = 0
    guard let producer = try? KafkaProducer(configuration: configuration, reports: { _ in }) else { return }
    defer { producer.close(timeoutMilliseconds: 5_000) }
    let topics = parties.compactMap { if case .kafka(let topic, _, _) = $0.way { topic } else { nil as String? } }
    try? producer.warmUp(topics: topics, timeoutMilliseconds: 5_000)
    let clock = SystemClock()
    var perSecond = 1
    if case .perSecond(let asked) = load { perSecond = asked }
    let pace = Pace(perSecond: perSecond)
    let end = clock.monotonicMilliseconds + Int64(seconds) * 1_000
    for (number, index) in trip.order.enumerated() {
      switch load {
      case .perSecond: pace.wait(for: number)
      case .underWay(let most):
        let left = end - clock.monotonicMilliseconds
        guard left > 0, trip.progress.wait(timeoutMilliseconds: Int(left), until: { $0.sent - $0.answered < most })
        else { return }
      }
      trip.progress.withLock { $0.sent += 1 }
      send(number, to: parties[index], connections[index], producer) {
        trip.times.note(number, clock.monotonicMicroseconds)
      }
    }
  }

  /// - Parameter leaves: called when the request is made, before anything of it is sent.
  private func send(
    _ number: Int, to party: Party, _ connections: HTTPRequests?, _ producer: KafkaProducer, leaves: () -> Void
  ) {
    switch party.way {
    case .http(_, _, let request):
      let body = request(number)
      leaves()
      connections?.send(number, body)
    case .kafka(let requestTopic, let responseTopic, let request):
      let message = request(number)
      let correlation = withUnsafeBytes(of: UInt64(number).littleEndian) { Array($0) }
      let reply = CloudEventHeaders.reply(topic: responseTopic, partition: 0, correlationID: correlation)
      leaves()
      try? producer.send(
        topic: requestTopic, partition: message.partition, key: nil, value: message.value,
        headers: message.headers + reply, reportID: 0)
    }
  }
}

/// When each request was sent, until its first answer.
final class SentTimes: Sendable {
  private let times: Mutex<[Int64]>

  init(count: Int) { times = Mutex(Array(repeating: 0, count: count)) }

  func note(_ number: Int, _ time: Int64) { times.withLock { $0[number] = time } }

  /// The numbers that were sent and have no answer.
  var rest: [Int] { times.withLock { times in times.indices.filter { times[$0] > 0 } } }

  func take(_ number: Int) -> Int64? {
    times.withLock { times in
      guard times.indices.contains(number), times[number] > 0 else { return nil }
      defer { times[number] = -1 }
      return times[number]
    }
  }
}
