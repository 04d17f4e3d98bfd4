import Glibc
import Synchronization
import Threads

/// An HTTP/1.1 server of the test's own: it answers each request by a rule, one connection at a time each on a thread.
final class SmallServer: Sendable {
  struct Request: Sendable {
    let path: String
    let body: [UInt8]
  }

  struct Reply: Sendable {
    /// 0 breaks the connection off without a word.
    var status = 200
    var body: [UInt8] = []
    var contentType = "application/protobuf"
    /// Further headers.
    var headers: [String] = []

    /// As an edge says what it does not do (RFC 9457).
    static func problem(_ status: Int, _ sentence: String, number: Int, retryAfter: String? = nil) -> Reply {
      Reply(
        status: status, body: Array(#"{"detail": "\#(sentence)", "number": \#(number), "status": \#(status)}"#.utf8),
        contentType: "application/problem+json", headers: retryAfter.map { ["Retry-After: \($0)"] } ?? [])
    }

    /// As whoever is not the edge answers.
    static func page(_ status: Int, headers: [String] = []) -> Reply {
      Reply(status: status, body: Array("<h1>Log in</h1>".utf8), contentType: "text/html", headers: headers)
    }
  }

  /// How TLS begins, which is not spoken here.
  private static let handshake: UInt8 = 0x16

  let port: UInt16
  private let listener: Int32
  private let log = Mutex<[Request]>([])
  private let answer: @Sendable (Request, Int) -> Reply

  var requests: [Request] { log.withLock { $0 } }
  var address: String { "http://127.0.0.1:\(port)" }

  /// - Parameter answer: What a request gets, by its number from 1.
  init(answer: @escaping @Sendable (Request, Int) -> Reply) {
    self.answer = answer
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutableBytes(of: &address) { bytes in
      let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
      _ = bind(listener, pointer, length)
      _ = listen(listener, 16)
      _ = getsockname(listener, pointer, &length)
    }
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    _ = OwnerThread("small-server") { [weak self] in
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return }
        _ = OwnerThread("small-connection") { [weak self] in
          while let self, self.serve(connection) {}
          Glibc.close(connection)
        }
      }
    }
  }

  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    Glibc.close(listener)
  }

  private func serve(_ connection: Int32) -> Bool {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    func more() -> Bool {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return false }
      bytes += buffer.prefix(count)
      return true
    }
    let end = Array("\r\n\r\n".utf8)
    var head: Range<Int>?
    while head == nil {
      head = bytes.firstRange(of: end)
      if head == nil, !more() || bytes.first == Self.handshake { return false }
    }
    guard let head else { return false }
    let lines = String(decoding: bytes[..<head.lowerBound], as: UTF8.self).split(separator: "\r\n")
    let length =
      lines.compactMap { line -> Int? in
        let parts = line.split(separator: ":", maxSplits: 1)
        return parts[0].lowercased() == "content-length" ? Int(parts[1].drop { $0 == " " }) : nil
      }.first ?? 0
    while bytes.count < head.upperBound + length { if !more() { return false } }
    let path = String(lines.first?.split(separator: " ").dropFirst().first ?? "")
    let request = Request(path: path, body: Array(bytes[head.upperBound..<head.upperBound + length]))
    let number = log.withLock { log in
      log.append(request)
      return log.count
    }
    let reply = answer(request, number)
    if reply.status == 0 { return false }
    let headers = ["Content-Length: \(reply.body.count)", "Content-Type: \(reply.contentType)"] + reply.headers
    let text = "HTTP/1.1 \(reply.status) X\r\n\(headers.joined(separator: "\r\n"))\r\n\r\n"
    let sent = Array(text.utf8) + reply.body
    return send(connection, sent, sent.count, Int32(MSG_NOSIGNAL)) == sent.count
  }
}
