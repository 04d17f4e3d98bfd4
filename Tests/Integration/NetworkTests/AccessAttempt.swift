import Kafka
import TestServers
import Threads

/// One user's tries to use topics.
struct AccessAttempt {
  private let servers: String
  private let properties: [String: String]
  private static let milliseconds: Int32 = 20_000

  init(kafka: SecuredKafka, user: String) throws {
    self.init(kafka: kafka, properties: try kafka.properties(of: user))
  }

  init(kafka: SecuredKafka, properties: [String: String]) {
    servers = kafka.bootstrapServers
    self.properties = properties
  }

  /// Where passwords are asked for.
  init(withPassword properties: [String: String], kafka: SecuredKafka) {
    servers = kafka.passwordServers
    self.properties = properties
  }

  private var configuration: KafkaConfiguration {
    var configuration = KafkaConfiguration(
      bootstrapServers: servers, clientID: "test", environment: .real)
    configuration.properties = properties
    return configuration
  }

  /// Whether the broker lets it in at all.
  func connects() -> Bool {
    guard let admin = try? KafkaAdmin(configuration: configuration) else { return false }
    defer { admin.close(timeoutMilliseconds: 0) }
    do throws(KafkaError) {
      _ = try admin.partitionCount(topic: "ads.requests", timeoutMilliseconds: 3_000)
      return true
    } catch { return error.codeName.hasPrefix("TOPIC_") }
  }

  /// Whether the broker takes a record of it.
  ///
  /// - Throws: what is neither a yes nor a refusal.
  func writes(_ topic: String) throws -> Bool {
    let reports = Monitor<[KafkaDeliveryReport]>([])
    let failures = Monitor<[KafkaError]>([])
    do throws(KafkaError) {
      let producer = try KafkaProducer(
        configuration: configuration, topics: [topic], timeoutMilliseconds: Self.milliseconds,
        failed: { error in
          failures.update { $0.append(error) }
          reports.update { _ in }
        }, reports: { new in reports.update { $0 += new } })
      defer { producer.abort() }
      // The brokers' refusal may come before the record: without a right to write anywhere there is no producer's number.
      do throws(KafkaError) {
        try producer.send(topic: topic, partition: 0, key: [0], value: [0], reportID: 1)
      } catch {
        throw producer.failure ?? error
      }
      _ = reports.wait(timeoutMilliseconds: Int(Self.milliseconds)) { !$0.isEmpty || !failures.withLock(\.isEmpty) }
      if reports.withLock({ $0.contains { $0.error == nil } }) { return true }
      let told = failures.withLock { $0.first } ?? reports.withLock { $0.first?.error }
      throw told ?? KafkaError.closed
    } catch {
      return try isRefusal(error)
    }
  }

  /// Whether the broker lets it read the first partition to its end.
  func reads(_ topic: String) throws -> Bool {
    do throws(KafkaError) {
      let consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: [topic])
      defer { consumer.abandon() }
      _ = try consumer.partitionCounts(of: [topic], timeoutMilliseconds: Self.milliseconds)
      try consumer.assign([
        KafkaTopicPartitionOffset(topic: topic, partition: 0, offset: KafkaTopicPartitionOffset.beginning)
      ])
      let deadline = Deadline(afterMilliseconds: Self.milliseconds)
      while !deadline.isOver {
        for event in try consumer.poll(timeoutMilliseconds: 500, recordsMaximum: 100, receive: { _ in }) {
          switch event {
          case .endReached: return true
          case .error(let error): if !error.isRetriable { throw error }
          }
        }
      }
      throw KafkaError.closed
    } catch {
      return try isRefusal(error)
    }
  }

  /// - Returns: false for a refusal, as what was tried did not work.
  private func isRefusal(_ error: KafkaError) throws(KafkaError) -> Bool {
    guard error.kind == .notAuthorized else { throw error }
    return false
  }
}
