import Foundation
import Kafka
import LocalProcesses
import Synchronization
import TestValues
import Testing

/// A real broker for one network after the other: a start costs more than most networks do. Topics have fixed names, so
/// whoever has it leaves it without any.
struct NetworkBroker: Sendable {
  let kafka: LocalKafka
  private let folder: TemporaryFolder
  /// The one that no network has.
  private static let free = Mutex<NetworkBroker?>(nil)

  /// Nil where there is no Kafka.
  static func take() async throws -> NetworkBroker? {
    guard KafkaInstallation.isAvailable else { return nil }
    let free = free.withLock { free in
      defer { free = nil }
      return free
    }
    if let free { return free }
    return try await onOwnThread {
      let folder = try TemporaryFolder(prefix: "hbk")
      let kafka = try LocalKafka(.init(folder: folder.path, heapMegabytes: 384, isShortLived: true))
      try kafka.startAndWait()
      return NetworkBroker(kafka: kafka, folder: folder)
    }
  }

  /// Removes all topics, and lets the next network have the broker; one that keeps any ends. Blocks.
  func giveBack() {
    do {
      try removeTopics()
      Self.free.withLock { $0 = self }
    } catch {
      kafka.killAndWait()
      Issue.record("a network's topics could not be removed: \(error)")
    }
  }

  private struct TopicsRemain: Error { let topics: Set<String> }

  private func removeTopics() throws {
    let admin = try KafkaAdmin(
      configuration: KafkaConfiguration(
        bootstrapServers: kafka.bootstrapServers, clientID: "test-end", environment: .real))
    defer { admin.close() }
    for topic in try topics() {
      do throws(KafkaError) { try admin.delete(topic: topic) } catch {
        if error.kind != .unknownTopic { throw error }
      }
    }
    guard try Waiting.until({ try topics().isEmpty }) else { throw TopicsRemain(topics: try topics()) }
  }

  /// The topics that the broker, which needs a moment longer than the controller, still has folders of: one for each
  /// partition, `TOPIC-NUMBER`. Kafka's own stay.
  private func topics() throws -> Set<String> {
    let names = try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/data")
    return Set(
      names.filter { !$0.hasPrefix("__") }.compactMap { name in
        guard let end = name.lastIndex(of: "-"), Int32(name[name.index(after: end)...]) != nil else { return nil }
        return String(name[..<end])
      })
  }
}
