import Glibc
import LocalProcesses

/// A TCP connection to a server on this machine, of which a test decides when it sends and when it reads: what a whole
/// client would do by itself. It is closed when nobody holds it any more.
package final class LoopbackConnection: Sendable {
  private static let receivedBytesMaximum = 65_536

  /// The socket, for whoever polls many of them at once; only the connection itself closes it.
  package let descriptor: Int32

  /// Connects to a port of 127.0.0.1; what is sent then leaves at once, however little it is.
  ///
  /// - Throws: `SupervisionError.system` when nobody takes the connection.
  package init(port: Int) throws(SupervisionError) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw .system(operation: "making a socket", code: errno) }
    var (address, on) = (sockaddr_in(), Int32(1))
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else {
      let code = errno
      close(descriptor)
      throw .system(operation: "connecting to port \(port)", code: code)
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Sends all bytes; blocks while the peer takes no more.
  ///
  /// - Returns: false when the connection broke before all were sent.
  package func send(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      // A peer that is gone is an error here, not a signal for the whole process.
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Blocks until the peer has said something or hung up, and takes nothing of it.
  ///
  /// - Returns: false when it did neither in so many milliseconds; 0 only looks.
  @discardableResult
  package func waitForPeer(timeoutMilliseconds: Int) -> Bool {
    var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&polled, 1, Int32(clamping: timeoutMilliseconds)) > 0
  }

  /// Takes what the peer has said; blocks until it says something or hangs up.
  ///
  /// - Returns: at most 64 KiB; nothing when it has hung up.
  package func receive() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Self.receivedBytesMaximum) { buffer, count in
      count = max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
    }
  }
}
