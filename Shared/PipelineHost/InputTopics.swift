package import AdEvents
internal import Kafka
package import Runtime
internal import Threads

/// Whether the topics that a service reads are set as they must be.
package enum InputTopics {
  private static let questionMilliseconds: Int32 = 5_000
  /// Those on which our memory, the time of arrivals, and that a log is not cut, rest.
  private static let needed = [
    "compression.type", "max.message.bytes", "message.timestamp.type", "unclean.leader.election.enable",
  ]

  /// Says what of a service's topics is set otherwise than it must be: then nothing bounds what others' records take here,
  /// or strangers' clocks count as ours. Who may not ask is told nothing. Nobody waits for it.
  package static func check(of service: Participant, connections: ConnectionSettings, context: ServiceContext) {
    // The embedded broker has no settings.
    guard !connections.isBrokerEmbedded else { return }
    let topics = Topic.allCases.filter { $0.readers.contains(service) }
    let stop = context.lifeCycle.stopRequest
    // Whoever ends does not wait for an answer.
    _ = OwnerThread("topic-settings") {
      guard !stop.wait(milliseconds: BrokerAccess.firstMilliseconds) else { return }
      do throws(KafkaError) {
        let admin = try KafkaAdmin(
          configuration: connections.kafka(clientID: "handbill-settings", logger: context.logger))
        defer { admin.close(timeoutMilliseconds: 0) }
        for topic in topics {
          tell(topic, try admin.settings(of: topic.name, timeoutMilliseconds: questionMilliseconds), context.logger)
        }
      } catch {
        context.logger.info("the topics' settings cannot be seen", ["error": .init(error.description)])
      }
    }
  }

  private static func tell(_ topic: Topic, _ inForce: [String: String], _ logger: Logger) {
    for name in needed {
      guard let value = topic.configuration[name], inForce[name] != value else { continue }
      let problem = "\(topic.name): \(name) is \(inForce[name] ?? "unknown"), must be \(value)"
      logger.error("a topic is not set as it must be: 'handbill topics create' mends it", ["setting": .text(problem)])
    }
    if inForce["min.insync.replicas"] == "1" {
      logger.warning(
        "the loss of one broker may lose what was confirmed: three copies, and min.insync.replicas 2, keep it",
        ["topic": .text(topic.name)])
    }
  }
}
