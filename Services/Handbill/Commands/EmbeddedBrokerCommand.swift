internal import Kafka
internal import LocalProcesses
internal import Runtime

/// `handbill embedded-broker`: the broker of the demo as a process of its own.
enum EmbeddedBrokerCommand {
  static let command = Command(
    "embedded-broker", summary: "Runs a Kafka broker in memory, for demos.",
    discussion: """
      It prints 'ready HOST:PORT', and takes lines from its standard input and the control socket: 'topic NAME
      PARTITIONS' makes a topic. It ends when its standard input does.
      """,
    options: [.value("control-socket", "PATH", help: "A unix socket on which it takes the same lines.")],
    examples: [
      CommandExample("sleep infinity | handbill embedded-broker", "A broker until the sleep is ended.")
    ], isHidden: true
  ) { invocation in
    let socket = invocation.text("control-socket")
    try await onOwnThread { try EmbeddedBrokerServer.serve(controlSocket: socket) }
    return .success
  }
}
