import AdCore
import AdEvents
import Foundation
import Kafka
import LocalProcesses
import Records
import TestValues
import Threads

/// Devices in this process, each with one request: for every ad that comes they tell what the SDK tells (rendered, viewed,
/// unloaded) and, of each 67th, a tap. They ask as fast as answers come, or at a given rate whether answered or not.
final class ChainDevices: Sendable {
  /// So many requests are open at most where no rate is given.
  private static let openMaximum = 4_000
  private static let tapEvery = 67

  /// What was shown and told.
  struct Told {
    var ads: Int64 = 0
    var unfilled: Int64 = 0
    var taps: Int64 = 0
    /// When each view was handed to Kafka, in microseconds since 1970; kept where it was asked for.
    var viewedAt: [ServeID: Int64] = [:]
  }

  private struct State {
    var open = 0
    var isOver = false
    var told = Told()
  }

  private let configuration: KafkaConfiguration
  /// Names the clients of this run, none of whom is throttled for another run's requests.
  private let run: Int
  private let keepsViews: Bool
  private let state = Monitor(State())

  init(_ configuration: KafkaConfiguration, run: Int, keepsViews: Bool = false) {
    var configuration = configuration
    configuration.lingerMilliseconds = keepsViews ? 1 : 5
    // Devices are many, each with a connection of its own: none waits until another's records are acknowledged.
    configuration.properties["max.in.flight.requests.per.connection"] = "5"
    self.configuration = configuration
    self.run = run
    self.keepsViews = keepsViews
  }

  /// Shows at least `ads` ads, or asks for so many at a rate, and returns once Kafka has all that was told of them.
  func show(_ ads: Int, perSecond: Int? = nil) throws -> Told {
    let consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: [])
    try consumer.assign(
      ChainNetwork.apps.map {
        KafkaTopicPartitionOffset(
          topic: Topic.responses(for: $0), partition: 0, offset: KafkaTopicPartitionOffset.end)
      })
    // The ends are known once an answer from before was not read; give it time.
    _ = try consumer.poll(timeoutMilliseconds: 1_000, recordsMaximum: 1) { _ in }
    let producer = try KafkaProducer(configuration: configuration) { _ in }
    try producer.warmUp(
      topics: [Topic.requests, .impressions, .clicks].map(\.name), timeoutMilliseconds: 10_000)
    let asking = OwnerThread("asking") { [self] in ask(ads, perSecond: perSecond, with: producer) }
    while !state.withLock({ $0.isOver && $0.open == 0 }) {
      _ = try consumer.poll(timeoutMilliseconds: 100, recordsMaximum: 1_000) { take($0, producer) }
    }
    asking.join()
    consumer.close(timeoutMilliseconds: 1_000)
    guard producer.close(timeoutMilliseconds: 60_000) else {
      throw SupervisionError.unavailable(what: "Kafka", hint: "it did not take the events within 60 s")
    }
    return state.withLock { $0.told }
  }

  // MARK: Asking

  private func ask(_ ads: Int, perSecond: Int?, with producer: KafkaProducer) {
    let pace = perSecond.map { Pace(perSecond: $0) }
    var number = 0
    while true {
      if let pace {
        guard number < ads else { break }
        pace.wait(for: number)
      } else {
        guard waitForRoom(ads) else { break }
      }
      state.withLock { $0.open += 1 }
      try? send(number, with: producer)
      number += 1
    }
    // An answer that does not come within its deadline never does.
    _ = state.wait(timeoutMilliseconds: 15_000) { $0.open == 0 }
    state.update { state in
      state.isOver = true
      state.open = 0
    }
  }

  /// False once enough ads were shown.
  private func waitForRoom(_ ads: Int) -> Bool {
    let isRoom = state.wait(timeoutMilliseconds: 20_000) { $0.told.ads >= ads || $0.open < Self.openMaximum }
    return isRoom && state.withLock { $0.told.ads < ads }
  }

  private func send(_ number: Int, with producer: KafkaProducer) throws {
    let app = number % ChainNetwork.appCount
    let client = client(UInt64(number))
    let countries = ["US", "FR", "JP", "DE", "GB"]
    let id = UUIDv7(timestamp: Self.now, randomHigh: UInt64(run), randomLow: UInt64(number))
    let request = AdRequest.sample {
      ($0.requestID, $0.appKey, $0.app) = (id, ChainNetwork.key(of: app), ChainNetwork.apps[app])
      ($0.clientID, $0.sessionID) = (client, client)
      $0.country = known(Country(countries[number % countries.count]))
    }
    let reply = CloudEventHeaders.reply(
      topic: Topic.responses(for: ChainNetwork.apps[app]), partition: 0,
      correlationID: withUnsafeBytes(of: UInt64(number).littleEndian) { Array($0) })
    try producer.send(
      topic: Topic.requests.name, partition: partition(client), key: Array(client.utf8), value: request.encoded(),
      headers: Workload.headers(.adRequested, id: id)
        + reply, reportID: 0)
  }

  private func client(_ number: UInt64) -> String { "client-\(run)-\(number)" }
  private func partition(_ client: String) -> Int32 {
    KafkaPartition.of(key: client, count: Surroundings.partitions)
  }
  private static var now: Timestamp {
    Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
  }

  // MARK: Telling

  private func take(_ record: borrowing KafkaRecordView, _ producer: KafkaProducer) {
    var headers = RecordHeaders()
    record.forEachHeader { name, value in headers.add(name: name, value: value) }
    guard case .success(let response) = AdResponse.decode(value: record.value, headers: headers),
      headers.correlationID.count == 8
    else { return }
    let number = headers.correlationID.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    guard case .ad(let ad) = response.outcome else {
      state.update { state in
        state.open -= 1
        state.told.unfilled += 1
      }
      return
    }
    let isTapped = number % UInt64(Self.tapEvery) == 0
    let viewedAt = Int64(Date().timeIntervalSince1970 * 1_000_000)
    try? tell(ad, number: number, isTapped: isTapped, with: producer)
    state.update { state in
      state.open -= 1
      state.told.ads += 1
      if isTapped { state.told.taps += 1 }
      if keepsViews { state.told.viewedAt[ad.serveID] = viewedAt }
    }
  }

  private func tell(_ ad: ServedAd, number: UInt64, isTapped: Bool, with producer: KafkaProducer) throws {
    let partition = partition(client(number))
    let events: [(ImpressionEvent.Kind, EventType, Int64)] = [
      (.rendered, .impressionRendered, 0), (.viewed, .impressionViewed, 1_000), (.unloaded, .impressionUnloaded, 2_000),
    ]
    for (index, (kind, type, age)) in events.enumerated() {
      let event = ImpressionEvent(
        kind: kind, subject: .serve(token: ad.token), age: .milliseconds(age), error: nil,
        identity: EventIdentity(idHash: 0, time: nil))
      try producer.send(
        topic: Topic.impressions.name, partition: partition, key: Array(client(number).utf8), value: event.encoded(),
        headers: Workload.headers(type, id: eventID(number, index)), reportID: 0)
    }
    guard isTapped else { return }
    let tap = ClickEvent(
      kind: .click, token: ad.token, age: .milliseconds(1_200), actionMilliseconds: 2_000, leftApplication: false,
      identity: EventIdentity(idHash: 0, time: nil))
    try producer.send(
      topic: Topic.clicks.name, partition: partition, key: Array(client(number).utf8), value: tap.encoded(),
      headers: Workload.headers(.clickTapped, id: eventID(number, events.count)), reportID: 0)
  }

  private func eventID(_ number: UInt64, _ index: Int) -> UUIDv7 {
    UUIDv7(timestamp: Self.now, randomHigh: UInt64(run), randomLow: number << 3 | UInt64(index))
  }
}
