import Glibc
import LocalProcesses
import Threads

/// One connection through the proxy: a thread for each direction, which end together.
final class ProxyConnection: Sendable {
  private let client: Int32
  private let server: Int32
  private static let pieceBytes = 65_536

  /// Owns both descriptors from now on.
  init(client: Int32, server: Int32) {
    self.client = client
    self.server = server
    var on: Int32 = 1
    setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  // The last reference goes when both threads have ended and the proxy has forgotten the connection: nobody can use a
  // number that has become another file's.
  deinit {
    close(client)
    close(server)
  }

  /// Ends both directions at once.
  func cut() {
    shutdown(client, Int32(SHUT_RDWR))
    shutdown(server, Int32(SHUT_RDWR))
  }

  /// Passes everything on until one side ends or a cut is due.
  func run(
    isCutDue: @escaping @Sendable (PostgresProxy.Cut, _ application: String) -> Bool,
    copyBegins: @escaping @Sendable (_ application: String) -> Void,
    ended: @escaping @Sendable () -> Void
  ) {
    _ = OwnerThread("proxy-statements") { [self] in
      defer {
        cut()
        ended()
      }
      guard let application = open() else { return }
      _ = OwnerThread("proxy-answers") { [self] in
        passAnswers(
          isCutDue: { isCutDue(.afterServerCommitted, application) }, copyBegins: { copyBegins(application) })
        cut()
      }
      passStatements { isCutDue(.beforeServerSees, application) }
    }
  }

  /// Lets the client say who it is; nil when it ends before.
  private func open() -> String? {
    while true {
      guard let length = read(client, count: PostgresOpening.lengthBytes) else { return nil }
      let bytes = length.reduce(0) { $0 << 8 | Int($1) }
      guard (8...PostgresOpening.longestBytes).contains(bytes),
        let body = read(client, count: bytes - PostgresOpening.lengthBytes)
      else { return nil }
      let opening = PostgresOpening(body[...])
      if opening.kind == .encryption {
        guard write(Array("N".utf8), to: client) else { return nil }
        continue
      }
      guard write(length + body, to: server) else { return nil }
      return opening.applicationName
    }
  }

  private func passStatements(isCutDue: () -> Bool) {
    var messages = PostgresMessages(watching: ["P", "Q"])
    pass(from: client, to: server) { piece in
      messages.pass(piece) { PostgresMessages.isCommit(fromClient: $0) && isCutDue() }
    }
  }

  private func passAnswers(isCutDue: () -> Bool, copyBegins: () -> Void) {
    // CommandComplete and CopyInResponse.
    var messages = PostgresMessages(watching: ["C", "G"])
    pass(from: server, to: client) { piece in
      messages.pass(piece) { message in
        if message.first == Character("G").asciiValue { copyBegins() }
        return PostgresMessages.isCommitDone(fromServer: message) && isCutDue()
      }
    }
  }

  private func pass(
    from source: Int32, to target: Int32, _ look: (ArraySlice<UInt8>) -> PostgresMessages.Passed
  ) {
    var buffer = [UInt8](repeating: 0, count: Self.pieceBytes)
    while true {
      let count = Glibc.read(source, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      let passed = look(buffer[..<count])
      guard write(passed.bytes, to: target), !passed.isEnded else { return }
    }
  }

  private func read(_ descriptor: Int32, count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let read = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress.map { $0 + done }, count - done) }
      if read < 0, errno == EINTR { continue }
      guard read > 0 else { return nil }
      done += read
    }
    return bytes
  }

  private func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      // A side that is gone is an error here, not a signal for the whole process.
      let sent = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if sent < 0, errno == EINTR { continue }
      guard sent > 0 else { return false }
      rest = rest.dropFirst(sent)
    }
    return true
  }
}

/// Sockets of this machine.
enum LoopbackListener {
  /// Listens on any free port of the loopback interface.
  static func listen() throws -> (descriptor: Int32, port: Int) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw SupervisionError.system(operation: "making a socket", code: errno) }
    do {
      let port = try FreePort.bindToAnyPort(descriptor)
      guard Glibc.listen(descriptor, 128) == 0 else {
        throw SupervisionError.system(operation: "listening on port \(port)", code: errno)
      }
      return (descriptor, port)
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// A connection to a unix socket; nil when nobody listens there.
  static func connect(unixSocket path: String) -> Int32? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, size) == 0 }
    }
    guard isConnected else {
      close(descriptor)
      return nil
    }
    return descriptor
  }
}
