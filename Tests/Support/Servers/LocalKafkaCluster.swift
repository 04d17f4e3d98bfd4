import Foundation
import LocalProcesses
import Threads

/// Several brokers of our own that are each other's controllers, on loopback ports; they end with this process.
///
/// With three, every partition has three copies, of which two must have a record before it is acknowledged.
package final class LocalKafkaCluster: Sendable {
  /// Several that start at once on a busy machine take their time.
  private static let startTimeoutMilliseconds = 180_000

  /// By node, from 1.
  package let brokers: [LocalKafka]

  /// Prepares brokers that are not started yet.
  ///
  /// - Parameters:
  ///   - folder: for all of them, each in a folder of its own.
  ///   - settings: broker settings that go before ours.
  /// - Throws: `SupervisionError.unavailable` when Kafka or Java is missing.
  package init(folder: String, count: Int, settings: [String: String] = [:], heapMegabytes: Int = 384) throws {
    let identifier = LocalKafka.newClusterIdentifier()
    let ports = try FreePort.find(count: 2 * count)
    let controllerPorts = Array(ports.prefix(count))
    brokers = try (1...count).map { node in
      let own = Self.settings(node: node, controllerPorts: controllerPorts)
      return try LocalKafka(
        LocalKafka.Configuration(
          folder: "\(folder)/broker-\(node)", port: ports[count + node - 1], settings: own.merging(settings) { $1 },
          heapMegabytes: heapMegabytes, startTimeoutMilliseconds: Self.startTimeoutMilliseconds,
          controllerPort: controllerPorts[node - 1], clusterIdentifier: identifier))
    }
  }

  /// What one broker must know of the others.
  private static func settings(node: Int, controllerPorts: [Int]) -> [String: String] {
    let copies = min(controllerPorts.count, 3)
    let needed = copies > 1 ? 2 : 1
    let voters = controllerPorts.enumerated().map { "\($0.offset + 1)@127.0.0.1:\($0.element)" }
    return [
      "node.id": "\(node)", "controller.quorum.voters": voters.joined(separator: ","),
      "default.replication.factor": "\(copies)", "min.insync.replicas": "\(needed)",
      "offsets.topic.replication.factor": "\(copies)", "transaction.state.log.replication.factor": "\(copies)",
      "transaction.state.log.min.isr": "\(needed)", "unclean.leader.election.enable": "false",
    ]
  }

  /// What clients take as `bootstrap.servers`.
  package var bootstrapServers: String { brokers.map(\.bootstrapServers).joined(separator: ",") }

  /// Starts whichever do not run, together, as each waits for a majority. Blocks.
  ///
  /// - Throws: `SupervisionError.failed` with the last words of one that did not get ready.
  package func startAndWait() throws {
    let failures = Monitor<[any Error]>([])
    let starts = brokers.map { broker in
      OwnerThread("broker") {
        do { try broker.startAndWait() } catch { failures.withLock { $0.append(error) } }
      }
    }
    for start in starts { start.join() }
    if let first = failures.withLock({ $0.first }) { throw first }
  }

  /// Ends all of them like a power cut. Blocks.
  package func killAndWait() { for broker in brokers { broker.killAndWait() } }
}
