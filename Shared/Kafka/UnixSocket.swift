internal import Foundation

/// The few calls on unix sockets that the embedded broker's control needs.
enum UnixSocket {
  private static let answerSeconds = 10

  static func listen(_ path: String) throws(KafkaError) -> Int32 {
    let descriptor = try open()
    // A socket left over from a process that is gone would refuse the address for ever.
    unsafe unlink(path)
    let isBound = try unsafe withAddress(path) { address, length in unsafe bind(descriptor, address, length) == 0 }
    guard isBound, unsafe chmod(path, 0o600) == 0, Foundation.listen(descriptor, 16) == 0 else {
      close(descriptor)
      throw KafkaError(.configuration, "cannot listen on the control socket")
    }
    return descriptor
  }

  static func connect(_ path: String) throws(KafkaError) -> Int32 {
    let descriptor = try open()
    var limit = timeval(tv_sec: answerSeconds, tv_usec: 0)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    guard try unsafe withAddress(path, { unsafe Foundation.connect(descriptor, $0, $1) == 0 }) else {
      close(descriptor)
      throw KafkaError(.brokerUnavailable, "no embedded broker listens on the control socket", isRetriable: true)
    }
    return descriptor
  }

  /// All of the text, or false; a reader that has gone raises no signal on sockets.
  static func write(_ text: String, to descriptor: Int32) -> Bool {
    let bytes = Array(text.utf8)
    var sent = 0
    while sent < bytes.count {
      let count = unsafe bytes[sent...].withUnsafeBytes { rest in
        let direct = unsafe send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
        return unsafe direct < 0 && errno == ENOTSOCK
          ? Foundation.write(descriptor, rest.baseAddress, rest.count) : direct
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  private static func open() throws(KafkaError) -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw KafkaError(.other, "no socket") }
    return descriptor
  }

  private static func withAddress<Value>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value
  ) throws(KafkaError) -> Value {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw KafkaError(.configuration, "the control socket's path is too long")
    }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
