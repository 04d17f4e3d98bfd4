import Foundation
import Synchronization
import Threads

@testable import Kafka

/// Collects what a producer reports.
final class Reports: Sendable {
  private let state = Monitor<[KafkaDeliveryReport]>([])

  var all: [KafkaDeliveryReport] { state.withLock { $0 } }
  func add(_ reports: [KafkaDeliveryReport]) { state.update { $0 += reports } }

  /// Waits for so many reports; fewer when the time runs out.
  func wait(count: Int, timeoutMilliseconds: Int = 20_000) -> [KafkaDeliveryReport] {
    state.waitForResult(timeoutMilliseconds: timeoutMilliseconds) { $0.count >= count ? $0 : nil } ?? all
  }
}

extension KafkaConfiguration {
  static func embedded(_ broker: EmbeddedBroker) -> KafkaConfiguration {
    KafkaConfiguration(bootstrapServers: broker.bootstrapServers, clientID: "test", environment: .embedded)
  }

  func producer(_ reports: Reports) throws -> KafkaProducer {
    try KafkaProducer(configuration: self) { reports.add($0) }
  }
}

extension KafkaConsumer {
  /// Polls until so many records have come (or, with `atEnd`, an end); gives up after `timeoutMilliseconds`.
  func read(
    count: Int, timeoutMilliseconds: Int32 = 20_000, events: (KafkaConsumerEvent) throws -> Void = { _ in }
  ) throws -> [KafkaRecord] {
    var records: [KafkaRecord] = []
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    while records.count < count, !deadline.isOver {
      let topics = topics
      let happened = try poll(
        timeoutMilliseconds: min(deadline.remainingMilliseconds, 500), recordsMaximum: count - records.count
      ) { record in
        records.append(record.copy(topic: topics[record.topicIndex]))
      }
      for event in happened { try events(event) }
    }
    return records
  }
}

extension KafkaProducer {
  /// Sends values `from..<to` as text to one partition.
  func sendNumbers(_ numbers: Range<Int>, topic: String, partition: Int32) throws {
    for number in numbers {
      try send(
        topic: topic, partition: partition, key: nil, value: Array("\(number)".utf8), reportID: UInt64(number))
    }
  }
}

extension KafkaRecord {
  /// The number that `sendNumbers` wrote.
  var number: Int? { value.flatMap { Int(String(decoding: $0, as: UTF8.self)) } }
}
