import Glibc
import LocalProcesses
import Threads

/// Requests over HTTP, on connections that stay open, each of which has one request under way at a time.
final class HTTPRequests: Sendable {
  /// A request's number, and the status of its answer.
  typealias Answered = @Sendable (_ number: Int, _ status: Int) -> Void

  private struct State {
    var idle: [Int32] = []
    /// What is asked on each.
    var numbers: [Int32: Int] = [:]
    var isClosed = false
  }

  private static let pollMilliseconds: Int32 = 100
  private static let headBytesMaximum = 4_096

  private let path: String
  private let connections: [Int32]
  private let state: Monitor<State>
  private let answered: Answered

  /// Connects to a port of this machine.
  init(port: Int, path: String, connections count: Int, answered: @escaping Answered) throws {
    self.path = path
    self.answered = answered
    connections = try (0..<count).map { _ in try Self.connect(port) }
    state = Monitor(State(idle: connections))
  }

  private static func connect(_ port: Int) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var (address, one) = (sockaddr_in(), Int32(1))
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else {
      Glibc.close(descriptor)
      throw SupervisionError.unavailable(what: "port \(port)", hint: "nobody takes a connection")
    }
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    return descriptor
  }

  /// Posts a body; waits first while all connections are in use.
  func send(_ number: Int, _ body: [UInt8]) {
    let connection = state.waitForResult(timeoutMilliseconds: 60_000) { state -> Int32? in
      guard let connection = state.idle.popLast() else { return nil }
      state.numbers[connection] = number
      return connection
    }
    guard let connection else { return }
    let head =
      "POST \(path) HTTP/1.1\r\nHost: edge\r\nContent-Type: application/protobuf\r\nContent-Length: \(body.count)\r\n\r\n"
    let bytes = Array(head.utf8) + body
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      sent += count
    }
  }

  /// Reads answers until ``close()``; for a thread of its own.
  func read() {
    var polled = connections.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    var texts: [Int32: [UInt8]] = [:]
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while !state.withLock({ $0.isClosed }) {
      guard poll(&polled, nfds_t(polled.count), Self.pollMilliseconds) > 0 else { continue }
      for index in polled.indices where polled[index].revents != 0 {
        let connection = polled[index].fd
        let count = recv(connection, &buffer, buffer.count, 0)
        guard count > 0 else {
          polled[index].fd = -1
          continue
        }
        texts[connection, default: []] += buffer.prefix(count)
        if let status = Self.takeAnswer(&texts[connection, default: []]) { take(connection, status) }
      }
    }
    for connection in connections { Glibc.close(connection) }
  }

  func close() { state.update { $0.isClosed = true } }

  private func take(_ connection: Int32, _ status: Int) {
    guard let number = state.withLock({ $0.numbers.removeValue(forKey: connection) }) else { return }
    answered(number, status)
    state.update { $0.idle.append(connection) }
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
