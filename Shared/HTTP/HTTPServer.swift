internal import CLibmicrohttpd
internal import Glibc
internal import Synchronization

/// Limits of a server.
package struct HTTPLimits: Sendable {
  /// The longest body, in bytes; more gets 413.
  package var bodyBytesMaximum = 1_048_576
  /// Memory for one request's line and headers, in bytes; more is refused by the library (414, 431).
  package var headerBytesMaximum = 32_768
  /// The most query parameters or headers of one request; more gets 400.
  package var fieldsMaximum = 100
  package var connectionsMaximum = 256
  package var idleSeconds = 15
  package var threadCount = 2

  package init() {}
}

/// Why a server does not start.
package enum HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
  case invalidAddress(String)
  /// The address and port cannot be listened on; the number is `errno`.
  case cannotListen(address: String, port: Int, code: Int32)

  package var description: String {
    switch self {
    case .invalidAddress(let address): "“\(address)” is not an IP address"
    case .cannotListen(let address, let port, let code):
      unsafe "cannot listen on \(address) port \(port): \(String(cString: strerror(code)))"
    }
  }
}

/// A handler failed. The id stands in the answer too, so that a person's report leads to the log.
package struct HTTPFailure: Sendable {
  package let id: String
  package let method: String
  package let path: String
  package let reason: String
}

/// An HTTP/1.1 server with a few threads of its own, each waiting with epoll. It stops at ``stop(graceMilliseconds:)``.
package final class HTTPServer: Sendable {
  /// The library's handle. `@unchecked` holds because libmicrohttpd allows its functions on a daemon from any thread;
  /// stopping twice is kept out by the mutex around it.
  @safe private struct Daemon: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  package let address: String
  /// The port listened on: with port 0, the one that was free.
  package let port: Int
  private let daemon: Mutex<Daemon?>
  private let context: HTTPServerContext

  /// Starts to listen.
  ///
  /// - Parameters:
  ///   - address: an IP address in text, such as `127.0.0.1` or `::1`.
  ///   - port: 0 takes a free one.
  ///   - onFailure: told of each handler that throws anything but ``HTTPProblem``; called on the server's threads.
  package init(
    address: String = "127.0.0.1", port: Int, router: Router, limits: HTTPLimits = HTTPLimits(),
    onFailure: @escaping @Sendable (HTTPFailure) -> Void = { _ in }
  ) throws(HTTPServerError) {
    guard let wanted = UInt16(exactly: port) else {
      throw .cannotListen(address: address, port: port, code: EINVAL)
    }
    let context = HTTPServerContext(router: router, limits: limits, onFailure: onFailure)
    var failure = HB_HTTP_OK
    let pointer = unsafe address.withCString { text in
      var options = unsafe hb_http_options(
        address: text, port: wanted, thread_count: UInt32(max(1, limits.threadCount)),
        connection_limit: UInt32(max(1, limits.connectionsMaximum)),
        idle_timeout_seconds: UInt32(max(1, limits.idleSeconds)),
        connection_memory_bytes: max(4_096, limits.headerBytesMaximum))
      return unsafe hb_http_start(
        &options, HTTPCallbacks.access, HTTPCallbacks.completed, Unmanaged.passUnretained(context).toOpaque(), &failure)
    }
    guard let pointer = unsafe pointer else {
      throw failure == HB_HTTP_BAD_ADDRESS
        ? .invalidAddress(address) : .cannotListen(address: address, port: port, code: errno)
    }
    self.address = address
    self.port = unsafe Int(hb_http_port(pointer))
    self.context = context
    daemon = unsafe Mutex(Daemon(pointer: pointer))
  }

  deinit { stop(graceMilliseconds: 0) }

  /// Takes no more connections, lets requests that have begun end, then closes everything. Blocks.
  ///
  /// - Parameter graceMilliseconds: how long such requests may take.
  package func stop(graceMilliseconds: Int = 2_000) {
    let taken = daemon.withLock { daemon in
      defer { daemon = nil }
      return daemon
    }
    guard let taken else { return }
    let listening = unsafe hb_http_quiesce(taken.pointer)
    context.drain(milliseconds: graceMilliseconds)
    unsafe MHD_stop_daemon(taken.pointer)
    if listening >= 0 { close(listening) }
  }
}
