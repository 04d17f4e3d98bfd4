import Glibc
import TestServers
import Threads

/// Requests over HTTP, on connections that stay open, each of which has one request under way at a time.
final class HTTPRequests: Sendable {
  /// A request's number, and the status of its answer.
  typealias Answered = @Sendable (_ number: Int, _ status: Int) -> Void

  private struct State {
    /// Connections, by their indexes.
    var idle: [Int] = []
    /// What is asked on each.
    var numbers: [Int: Int] = [:]
    var isClosed = false
  }

  private static let pollMilliseconds: Int32 = 100
  private static let headBytesMaximum = 4_096

  private let path: String
  private let connections: [LoopbackConnection]
  private let state: Monitor<State>
  private let answered: Answered

  /// Connects to a port of this machine.
  init(port: Int, path: String, connections count: Int, answered: @escaping Answered) throws {
    self.path = path
    self.answered = answered
    connections = try (0..<count).map { _ in try LoopbackConnection(port: port) }
    state = Monitor(State(idle: Array(0..<count)))
  }

  /// Posts a body; waits first while all connections are in use.
  func send(_ number: Int, _ body: [UInt8]) {
    let index = state.waitForResult(timeoutMilliseconds: 60_000) { state -> Int? in
      guard let index = state.idle.popLast() else { return nil }
      state.numbers[index] = number
      return index
    }
    guard let index else { return }
    let head =
      "POST \(path) HTTP/1.1\r\nHost: edge\r\nContent-Type: application/protobuf\r\nContent-Length: \(body.count)\r\n\r\n"
    // One that broke is left out: what was asked on it gets no answer.
    _ = connections[index].send(Array(head.utf8) + body)
  }

  /// Reads answers until ``close()``; for a thread of its own.
  func read() {
    var polled = connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    var texts = [[UInt8]](repeating: [], count: connections.count)
    while !state.withLock({ $0.isClosed }) {
      guard poll(&polled, nfds_t(polled.count), Self.pollMilliseconds) > 0 else { continue }
      for index in polled.indices where polled[index].revents != 0 {
        let bytes = connections[index].receive()
        guard !bytes.isEmpty else {
          polled[index].fd = -1
          continue
        }
        texts[index] += bytes
        if let status = Self.takeAnswer(&texts[index]) { take(index, status) }
      }
    }
  }

  func close() { state.update { $0.isClosed = true } }

  private func take(_ index: Int, _ status: Int) {
    guard let number = state.withLock({ $0.numbers.removeValue(forKey: index) }) else { return }
    answered(number, status)
    state.update { $0.idle.append(index) }
  }

  /// The status of a whole answer, which is taken out.
  private static func takeAnswer(_ bytes: inout [UInt8]) -> Int? {
    guard let end = bytes.prefix(headBytesMaximum).firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
    let length = lines.lazy.compactMap { line -> Int? in
      let parts = line.split(separator: ":", maxSplits: 1)
      return parts[0].lowercased() == "content-length" ? Int(parts[1].drop { $0 == " " }) : nil
    }.first
    guard bytes.count >= end.upperBound + (length ?? 0) else { return nil }
    bytes.removeFirst(end.upperBound + (length ?? 0))
    return Int(lines.first?.split(separator: " ").dropFirst().first ?? "")
  }
}
