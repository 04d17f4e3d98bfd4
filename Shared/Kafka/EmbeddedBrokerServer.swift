internal import Foundation

/// The embedded broker as a process of its own.
///
/// It prints `ready BOOTSTRAP` and then takes lines, from its standard input and from connections to a unix socket:
/// `topic NAME PARTITIONS` is answered with `ok NAME` or `error TEXT`. It ends when
/// its standard input does, so it never outlives whoever started it.
package struct EmbeddedBrokerServer {
  /// The most connections at a time; more wait until one ends.
  package static let connectionsMaximum = 16
  /// The longest line; a connection that sends a longer one is cut.
  package static let lineBytesMaximum = 512

  private let broker: EmbeddedBroker
  private var listener: Int32 = -1
  private var peers: [Peer] = []

  private struct Peer {
    let input: Int32
    let output: Int32
    var pending: [UInt8] = []
  }

  private init(_ broker: EmbeddedBroker) { self.broker = broker }

  /// Runs until `input` ends. `controlSocket` is the path of the unix socket, if there is to be one.
  package static func serve(
    brokerCount: Int = 1, controlSocket: String? = nil, input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO
  ) throws(KafkaError) {
    // Whoever read the output may be gone: that ends a write, not the process before it has cleaned up.
    signal(SIGPIPE, SIG_IGN)
    let broker = try EmbeddedBroker(brokerCount: brokerCount)
    defer { broker.stop() }
    var server = EmbeddedBrokerServer(broker)
    if let controlSocket { server.listener = try UnixSocket.listen(controlSocket) }
    defer {
      for peer in server.peers.dropFirst() { close(peer.input) }
      if server.listener >= 0 { close(server.listener) }
      if let controlSocket { unsafe unlink(controlSocket) }
    }
    server.peers = [Peer(input: input, output: output)]
    guard UnixSocket.write("ready \(broker.bootstrapServers)\n", to: output) else { return }
    while server.serveOnce() {}
  }

  /// Waits for lines or connections; false when the standard input has ended.
  private mutating func serveOnce() -> Bool {
    var waits = peers.map { pollfd(fd: $0.input, events: Int16(POLLIN), revents: 0) }
    let isListening = listener >= 0 && peers.count <= EmbeddedBrokerServer.connectionsMaximum
    if isListening { waits.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0)) }
    guard unsafe poll(&waits, nfds_t(waits.count), -1) > 0 else { return errno == EINTR }
    if isListening, waits[peers.count].revents != 0 {
      let connection = accept(listener, nil, nil)
      if connection >= 0 { peers.append(Peer(input: connection, output: connection)) }
    }
    let ready = waits.indices.filter { $0 < waits.count - (isListening ? 1 : 0) && waits[$0].revents != 0 }
    for index in ready.reversed() where !read(index) {
      if index == 0 { return false }
      close(peers[index].input)
      peers.remove(at: index)
    }
    return true
  }

  /// Takes what has come; false when the peer is to be dropped.
  private mutating func read(_ index: Int) -> Bool {
    var buffer = [UInt8](repeating: 0, count: EmbeddedBrokerServer.lineBytesMaximum)
    let count = unsafe Foundation.read(peers[index].input, &buffer, buffer.count)
    if count < 0 { return errno == EINTR }
    guard count > 0 else { return false }
    peers[index].pending += buffer[..<count]
    while let end = peers[index].pending.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: peers[index].pending[..<end], as: UTF8.self)
      peers[index].pending.removeSubrange(...end)
      guard UnixSocket.write(answer(line) + "\n", to: peers[index].output) else { return false }
    }
    return peers[index].pending.count < EmbeddedBrokerServer.lineBytesMaximum
  }

  private func answer(_ line: String) -> String {
    let words = line.split(separator: " ").map(String.init)
    switch words.first {
    case "topic" where words.count == 3:
      guard let partitions = Int32(words[2]) else { return "error not a number of partitions" }
      do {
        try broker.createTopic(words[1], partitions: partitions)
        return "ok \(words[1])"
      } catch {
        return "error \(error.message)"
      }
    default: return "error not a command"
    }
  }
}

/// Talks to an embedded broker's process through its unix socket.
package struct EmbeddedBrokerControl: Sendable {
  package let socketPath: String

  package init(socketPath: String) { self.socketPath = socketPath }

  /// Makes a topic; fine when it is there with as many partitions.
  package func createTopic(_ name: String, partitions: Int32) throws(KafkaError) {
    guard EmbeddedBroker.isTopicName(name) else { throw KafkaError(.configuration, "not a topic name") }
    let answer = try ask("topic \(name) \(partitions)")
    guard answer.hasPrefix("ok ") else { throw KafkaError(.configuration, "the embedded broker says: \(answer)") }
  }

  private func ask(_ line: String) throws(KafkaError) -> String {
    let connection = try UnixSocket.connect(socketPath)
    defer { close(connection) }
    guard UnixSocket.write(line + "\n", to: connection) else {
      throw KafkaError(.brokerUnavailable, "the embedded broker has gone", isRetriable: true)
    }
    var answer: [UInt8] = []
    var byte: UInt8 = 0
    while answer.count < 4_096, unsafe read(connection, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
      answer.append(byte)
    }
    guard !answer.isEmpty else {
      throw KafkaError(.brokerUnavailable, "the embedded broker does not answer", isRetriable: true)
    }
    return String(decoding: answer, as: UTF8.self)
  }
}
