package import AdCore
package import Kafka
internal import Pipeline
internal import Records

extension KafkaTopicProbe {
  /// So far back from a log's end a record that somebody believes is looked for: what strangers may have written, and
  /// transaction markers, are passed over.
  private static let recordsBackMaximum = 8

  /// What the last genuine record of each of these different logs tells of its writer's database; nil where none does.
  ///
  /// - Parameter isThorough: the highest of the last records: one that was on its way for long may stand behind newer ones.
  package func lastMarks(
    of partitions: [KafkaTopicPartition], by mac: MessageMAC, isThorough: Bool = false, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TimelineMark?] {
    var marks = [TimelineMark?](repeating: nil, count: partitions.count)
    guard !partitions.isEmpty else { return marks }
    let bounds = try bounds(of: partitions, timeoutMilliseconds: timeoutMilliseconds)
    var wanted = partitions.indices.filter { bounds[$0].first < bounds[$0].end }
    for back in 1...Self.recordsBackMaximum where !wanted.isEmpty {
      let positions = wanted.map {
        KafkaTopicPartitionOffset(partitions[$0], offset: bounds[$0].end - Int64(back))
      }
      let found = try records(at: positions, timeoutMilliseconds: timeoutMilliseconds) {
        $1.copy(topic: $0.topic).timelineMark(in: $0, by: mac)
      }
      for index in wanted {
        let told = [marks[index], found[partitions[index]] ?? nil].compactMap(\.self)
        marks[index] = told.max { ($0.sequence, $0.batch) < ($1.sequence, $1.batch) }
      }
      wanted.removeAll { !isThorough && marks[$0] != nil || bounds[$0].end - Int64(back) <= bounds[$0].first }
    }
    return marks
  }
}

extension KafkaRecord {
  /// What it tells of its writer's database; nil unless it is genuine.
  fileprivate func timelineMark(in partition: KafkaTopicPartition, by mac: MessageMAC) -> TimelineMark? {
    var received = ReceivedMAC()
    for header in headers { header.withUnsafeBytes { received.header(name: $0, value: $1) } }
    func rejection(_ key: UnsafeRawBufferPointer?, _ value: UnsafeRawBufferPointer?) -> Bool {
      received.rejection(by: mac, topic: partition.topic, partition: partition.partition, key: key, value: value) != nil
    }
    let isRejected = (key ?? []).withUnsafeBytes { keyBytes in
      (value ?? []).withUnsafeBytes { rejection(key == nil ? nil : keyBytes, value == nil ? nil : $0) }
    }
    return isRejected ? nil : received.mark
  }
}
