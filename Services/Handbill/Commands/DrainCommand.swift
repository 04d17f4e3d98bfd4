internal import AdEvents
internal import JSON
internal import Kafka
internal import LocalProcesses
internal import Runtime
internal import Threads

/// `handbill drain`: waits until everything that was written is decided.
enum DrainCommand {
  private static let timeoutDefault = 15_000

  static let command = Command(
    "drain", summary: "Waits until everything that was written is decided; exit 1 if something is left.",
    discussion: """
      Every input of every service is at its end, every sequence that was given is taken, and every impression is
      counted. While devices go on this may never be so.
      """,
    options: KafkaAddress.options + DatabaseAddress.options + [
      .value("timeout", "TIME", default: "15s", help: "How long it waits.")
    ],
    examples: [CommandExample("handbill drain && handbill reconcile", "The accounts once all is decided.")]
  ) { invocation in
    let kafka = try KafkaAddress(invocation)
    let timeout = try invocation.milliseconds("timeout", in: 0...3_600_000) ?? timeoutDefault
    let left = try await onOwnThread {
      let stop = StopRequest()
      let signals = stop.listen()
      defer { signals.cancel() }
      let drain = try Drain(
        kafka: kafka, databaseURL: DatabaseAddress.address(invocation), partitions: try partitions(kafka))
      defer { drain.close() }
      return try drain.wait(timeoutMilliseconds: timeout, stop: stop)
    }
    if invocation.wantsJSON {
      Terminal.print((["left": .texts(left)] as JSONValue).prettyText)
    } else {
      Terminal.print(left.isEmpty ? "Everything is decided." : left.joined(separator: "\n"))
    }
    return left.isEmpty ? .success : .failure
  }

  private static func partitions(_ kafka: KafkaAddress) throws(KafkaError) -> Int32 {
    let probe = try KafkaTopicProbe(configuration: kafka.configuration(clientID: "handbill-drain"))
    defer { probe.close(timeoutMilliseconds: 1_000) }
    return try probe.partitionCount(topic: Topic.requests.name, timeoutMilliseconds: 10_000)
  }
}
