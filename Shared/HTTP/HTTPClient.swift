internal import Glibc
internal import Threads

/// Why a request got no answer.
package enum HTTPClientError: Error, Sendable, Equatable {
  /// Only `http://` with an IPv4 address or `localhost` is understood.
  case unsupportedURL
  case timedOut
  /// The number is `errno`.
  case connection(Int32)
  case malformedResponse
}

/// A small blocking client for this machine: health checks and tests.
package enum HTTPClient {
  /// The longest response, in bytes.
  package static let responseBytesMaximum = 16 * 1_048_576

  package static func get(_ url: String, timeoutMilliseconds: Int = 2_000) throws(HTTPClientError) -> HTTPResponse {
    try send("GET", url, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Sends one request on a connection of its own. Header names of the response are in lower case.
  package static func send(
    _ method: String, _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
    timeoutMilliseconds: Int = 2_000
  ) throws(HTTPClientError) -> HTTPResponse {
    guard let target = Target(url) else { throw .unsupportedURL }
    var head = "\(method) \(target.path) HTTP/1.1\r\nHost: \(target.host):\(target.port)\r\nConnection: close\r\n"
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    if !body.isEmpty { head += "Content-Length: \(body.count)\r\n" }
    let raw = try exchange(
      Array((head + "\r\n").utf8) + body, host: target.host, port: target.port,
      timeoutMilliseconds: timeoutMilliseconds)
    return try parse(raw)
  }

  /// Sends bytes as they are, and reads until the other side closes.
  package static func exchange(
    _ bytes: [UInt8], host: String, port: UInt16, timeoutMilliseconds: Int = 2_000
  ) throws(HTTPClientError) -> [UInt8] {
    var connection = try Connection(host: host, port: port, timeoutMilliseconds: timeoutMilliseconds)
    defer { connection.close() }
    // A server that refuses early closes while we still send: what it said counts all the same.
    try connection.send(bytes)
    return try connection.receiveAll(maximum: responseBytesMaximum)
  }

  static func parse(_ raw: [UInt8]) throws(HTTPClientError) -> HTTPResponse {
    guard let end = raw.firstRange(of: Array("\r\n\r\n".utf8)) else { throw .malformedResponse }
    let lines = String(decoding: raw[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else { throw .malformedResponse }
    let headers = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let value = parts.count > 1 ? parts[1].drop { $0 == " " } : ""
      return (name: parts[0].lowercased(), value: String(value))
    }
    return HTTPResponse(status: status, headers: headers, body: Array(raw[end.upperBound...]))
  }

  private struct Target {
    let host: String
    let port: UInt16
    let path: String

    init?(_ url: String) {
      guard url.hasPrefix("http://") else { return nil }
      let rest = url.dropFirst("http://".count)
      let slash = rest.firstIndex(of: "/") ?? rest.endIndex
      let parts = rest[..<slash].split(separator: ":", omittingEmptySubsequences: false)
      guard let name = parts.first, !name.isEmpty, parts.count <= 2 else { return nil }
      guard let port = parts.count == 2 ? UInt16(parts[1]) : 80 else { return nil }
      guard !url.unicodeScalars.contains(where: { $0.value <= 0x20 }) else { return nil }
      host = name == "localhost" ? "127.0.0.1" : String(name)
      self.port = port
      path = slash == rest.endIndex ? "/" : String(rest[slash...])
    }
  }
}

/// A TCP connection with one deadline for all it does.
private struct Connection {
  private let descriptor: Int32
  private let deadline: Int64

  init(host: String, port: UInt16, timeoutMilliseconds: Int) throws(HTTPClientError) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    guard unsafe inet_pton(AF_INET, host, &address.sin_addr) == 1 else { throw .unsupportedURL }
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    descriptor = socket(AF_INET, type, 0)
    deadline = MonotonicClock.milliseconds + Int64(timeoutMilliseconds)
    guard descriptor >= 0 else { throw .connection(errno) }
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if result == 0 { return }
    do throws(HTTPClientError) {
      guard errno == EINPROGRESS else { throw .connection(errno) }
      try wait(for: POLLOUT)
      var code: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
      guard code == 0 else { throw .connection(code) }
    } catch {
      _ = Glibc.close(descriptor)
      throw error
    }
  }

  mutating func close() { _ = Glibc.close(descriptor) }

  func send(_ bytes: [UInt8]) throws(HTTPClientError) {
    var sent = 0
    while sent < bytes.count {
      let count = unsafe bytes[sent...].withUnsafeBytes {
        unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count > 0 {
        sent += count
      } else if errno == EAGAIN {
        try wait(for: POLLOUT)
      } else if errno == EPIPE || errno == ECONNRESET {
        return
      } else if errno != EINTR {
        throw .connection(errno)
      }
    }
  }

  func receiveAll(maximum: Int) throws(HTTPClientError) -> [UInt8] {
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while received.count <= maximum {
      let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
      if count > 0 {
        received.append(contentsOf: buffer[..<count])
      } else if count == 0 {
        return received
      } else if errno == EAGAIN {
        try wait(for: POLLIN)
      } else if errno == ECONNRESET, !received.isEmpty {
        return received
      } else if errno != EINTR {
        throw .connection(errno)
      }
    }
    throw .malformedResponse
  }

  private func wait(for events: Int32) throws(HTTPClientError) {
    var waiting = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    while true {
      let left = deadline - MonotonicClock.milliseconds
      guard left > 0 else { throw .timedOut }
      let ready = unsafe poll(&waiting, 1, Int32(clamping: left))
      if ready > 0 { return }
      if ready < 0, errno != EINTR { throw .connection(errno) }
    }
  }
}
