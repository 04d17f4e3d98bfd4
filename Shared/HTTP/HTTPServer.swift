internal import CLibmicrohttpd
internal import Glibc
internal import Synchronization

/// Limits of a server.
package struct HTTPLimits: Sendable {
  /// The longest body, in bytes; more gets 413.
  package var bodyBytesMaximum = 1_048_576
  /// Memory for all bodies that have come in part or wait for their answers, in bytes. Beyond it the request that has been on
  /// its way for longest is hung up on: who sends slowly on many connections hurts himself. Beyond twice as much, the newest.
  package var bodyBytesInAllMaximum = 64 << 20
  /// Memory for all answers that are made and not written yet, in bytes; bodies that responses share are in memory once
  /// and not counted. Beyond it the answer that has been on its way for longest is hung up on; beyond twice as much,
  /// the newest is 503 without a body, and ends its connection.
  package var answerBytesInAllMaximum = 64 << 20
  /// Memory for one request's line and headers, in bytes; more is refused by the library (414, 431).
  package var headerBytesMaximum = 32_768
  /// The most query parameters or headers of one request; more gets 400.
  package var fieldsMaximum = 100
  package var connectionsMaximum = 256
  /// The most connections of one address, of IPv6 of its first 64 bits, which one customer of a provider usually has: on
  /// further ones is hung up. Nil for no such limit.
  package var connectionsOfAddressMaximum: Int?
  /// A connection on which nothing comes for so long is closed; one on which no whole request has come after twice as
  /// long, too, however busily it dribbles.
  package var idleSeconds = 15
  /// An answer that has been on its way for so long is hung up on, so that nobody holds what it is made of for ever: a phone
  /// has read 2 MiB at 50 kbit/s by then.
  package var answerSeconds = 600
  package var threadCount = 2

  package init() {}
}

/// What a server shows who it is with, and speaks TLS by: both in PEM.
package struct HTTPCredentials: Sendable {
  /// Its certificate, and after it what lies between that and the authority.
  package var certificate: String
  package var privateKey: String

  package init(certificate: String, privateKey: String) {
    self.certificate = certificate
    self.privateKey = privateKey
  }
}

/// Why a server does not start.
package enum HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
  case invalidAddress(String)
  /// The library takes certificate and key neither apart nor together.
  case invalidCredentials
  /// The address and port cannot be listened on; the number is `errno`, and the settings choose others.
  case cannotListen(address: String, port: Int, code: Int32, settings: [String])

  package var description: String {
    switch self {
    case .invalidAddress(let address): "“\(address)” is not an IP address"
    case .invalidCredentials: "certificate and private key are not both PEM, or do not belong together"
    case .cannotListen(let address, let port, let code, let settings):
      unsafe "cannot listen on \(address) port \(port): \(String(cString: strerror(code)))"
        + (settings.isEmpty ? "" : "; choose another by \(settings.joined(separator: " or "))")
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
  let context: HTTPServerContext
  private let watch: ConnectionWatch

  /// Starts to listen.
  ///
  /// - Parameters:
  ///   - address: an IP address in text, such as `127.0.0.1` or `::1`.
  ///   - port: 0 takes a free one.
  ///   - settings: the names of those that chose address and port, for the error where they cannot be had.
  ///   - credentials: nil for plain HTTP.
  ///   - onFailure: told of each handler that throws anything but ``HTTPProblem``; called on the server's threads.
  package init(
    address: String = "127.0.0.1", port: Int, settings: [String] = [], router: Router,
    limits: HTTPLimits = HTTPLimits(), credentials: HTTPCredentials? = nil,
    onFailure: @escaping @Sendable (HTTPFailure) -> Void = { _ in }
  ) throws(HTTPServerError) {
    guard let wanted = UInt16(exactly: port) else {
      throw .cannotListen(address: address, port: port, code: EINVAL, settings: settings)
    }
    let context = HTTPServerContext(router: router, limits: limits, onFailure: onFailure)
    var failure = HB_HTTP_OK
    errno = 0
    let pointer = unsafe HTTPServer.withTexts(address, credentials) { address, certificate, privateKey in
      var options = unsafe hb_http_options(
        address: address, port: wanted, thread_count: UInt32(max(1, limits.threadCount)),
        connection_limit: UInt32(max(1, limits.connectionsMaximum)),
        idle_timeout_seconds: UInt32(max(1, limits.idleSeconds)),
        connection_memory_bytes: max(4_096, limits.headerBytesMaximum), certificate: certificate,
        private_key: privateKey)
      return unsafe hb_http_start(
        &options, HTTPCallbacks.access, HTTPCallbacks.completed, HTTPCallbacks.connected,
        Unmanaged.passUnretained(context).toOpaque(), &failure)
    }
    guard let pointer = unsafe pointer else {
      if failure == HB_HTTP_BAD_ADDRESS { throw .invalidAddress(address) }
      // Of bad credentials the library says nothing, and leaves no error behind.
      throw errno == 0 && credentials != nil
        ? .invalidCredentials : .cannotListen(address: address, port: port, code: errno, settings: settings)
    }
    self.address = address
    self.port = unsafe Int(hb_http_port(pointer))
    self.context = context
    daemon = unsafe Mutex(Daemon(pointer: pointer))
    watch = ConnectionWatch(
      context.connections, owingSeconds: 2 * max(1, limits.idleSeconds), answerSeconds: max(1, limits.answerSeconds))
  }

  /// C strings of the three; those of no credentials are null.
  private static func withTexts<Result>(
    _ address: String, _ credentials: HTTPCredentials?,
    _ body: (UnsafePointer<CChar>, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Result
  ) -> Result {
    unsafe address.withCString { address in
      guard let credentials else { return unsafe body(address, nil, nil) }
      return unsafe credentials.certificate.withCString { certificate in
        unsafe credentials.privateKey.withCString { unsafe body(address, certificate, $0) }
      }
    }
  }

  deinit { stop(graceMilliseconds: 0) }

  /// How many connections are open.
  package var connectionCount: Int { context.connections.count }

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
    context.waitForRequests(milliseconds: graceMilliseconds)
    watch.stop()
    // The library must not be stopped while connections are suspended.
    context.abandonWaiting()
    unsafe MHD_stop_daemon(taken.pointer)
    if listening >= 0 { close(listening) }
  }
}
