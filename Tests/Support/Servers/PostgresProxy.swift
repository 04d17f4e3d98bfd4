import Glibc
import LocalProcesses
import Threads

/// A TCP proxy before a PostgreSQL server that understands enough of its protocol to cut a connection in the middle of
/// a COMMIT, which a client cannot tell apart: before the server sees it, or after it is done.
///
/// It listens on a loopback port and speaks to the server's unix socket. Encryption is refused: it could not read.
package final class PostgresProxy: Sendable {
  /// Which side of a COMMIT a connection is cut on.
  package enum Cut: String, Sendable, CaseIterable {
    /// The server never sees the COMMIT, and rolls back.
    case beforeServerSees
    /// The server has committed, and its answer is lost.
    case afterServerCommitted
  }

  /// One cut that is still to come.
  struct Order: Sendable {
    let cut: Cut
    /// Connections of this name only; nil for all.
    let application: String?
    /// So many COMMITs go through before.
    var skipping: Int
  }

  /// What is to be done when a connection begins a COPY.
  struct CopyOrder: Sendable {
    let application: String?
    var skipping: Int
    let body: @Sendable () -> Void
  }

  struct State: Sendable {
    var socketPath: String
    var orders: [Order] = []
    var copyOrders: [CopyOrder] = []
    var cuts = 0
    var isClosed = false
    var connections: [Int: ProxyConnection] = [:]
    var nextConnection = 0
  }

  /// Where clients connect.
  package let port: Int
  let state: Monitor<State>
  private let listener: Int32

  /// Listens from now on.
  ///
  /// - Parameter socketPath: the server's unix socket.
  /// - Throws: `SupervisionError.system` when nothing can listen.
  package init(to socketPath: String) throws {
    state = Monitor(State(socketPath: socketPath))
    (listener, port) = try LoopbackListener.listen()
    let listener = listener
    _ = OwnerThread("proxy-accept") { [weak self] in
      // Closed by the only one who uses it, so that nobody accepts on a number that has become another file's.
      defer { Glibc.close(listener) }
      while true {
        let client = accept(listener, nil, nil)
        if client < 0, errno == EINTR || errno == ECONNABORTED { continue }
        guard client >= 0 else { return }
        guard let self else {
          Glibc.close(client)
          return
        }
        self.serve(client)
      }
    }
  }

  deinit { close() }

  /// The address of a database by way of this proxy.
  package func url(database: String, user: String = PrivatePostgres.administrator) -> String {
    "postgresql://\(user)@127.0.0.1:\(port)/\(database)?sslmode=disable"
  }

  /// Connections from now on go to another server.
  package func redirect(to socketPath: String) { state.withLock { $0.socketPath = socketPath } }

  /// Cuts one connection at a COMMIT to come.
  ///
  /// - Parameters:
  ///   - application: the `application_name` of the connections concerned; nil for all.
  ///   - skipping: so many of their COMMITs go through before.
  package func cutCommit(_ cut: Cut, application: String? = nil, skipping: Int = 0) {
    state.withLock { $0.orders.append(Order(cut: cut, application: application, skipping: skipping)) }
  }

  /// Runs `body` once, when PostgreSQL is ready for the rows of a COPY and the client does not know it yet: a client
  /// that is stopped there stands in the middle of its COPY.
  package func atCopy(application: String? = nil, skipping: Int = 0, _ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.copyOrders.append(CopyOrder(application: application, skipping: skipping, body: body)) }
  }

  /// How many connections were cut in a COMMIT so far.
  package var cuts: Int { state.withLock { $0.cuts } }

  /// Blocks until so many connections were cut in a COMMIT; false when the time was over before.
  package func waitForCuts(_ count: Int, timeoutMilliseconds: Int) -> Bool {
    state.wait(timeoutMilliseconds: timeoutMilliseconds) { $0.cuts >= count }
  }

  /// Cuts all connections that are there.
  package func cutAll() {
    for connection in state.withLock({ Array($0.connections.values) }) { connection.cut() }
  }

  /// Listens no more and cuts everything; again does nothing.
  package func close() {
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    guard isFirst else { return }
    shutdown(listener, Int32(SHUT_RDWR))
    cutAll()
  }

  /// Whether the COMMIT that is just seen on one side is the one at which the connection is to be cut.
  func isCutDue(_ cut: Cut, application: String) -> Bool {
    state.update { state in
      for index in state.orders.indices where state.orders[index].cut == cut {
        guard state.orders[index].application.map({ $0 == application }) ?? true else { continue }
        guard state.orders[index].skipping == 0 else {
          state.orders[index].skipping -= 1
          return false
        }
        state.orders.remove(at: index)
        state.cuts += 1
        return true
      }
      return false
    }
  }

  /// A connection of this name begins a COPY.
  func copyBegins(application: String) {
    let body = state.withLock { state -> (@Sendable () -> Void)? in
      for index in state.copyOrders.indices {
        guard state.copyOrders[index].application.map({ $0 == application }) ?? true else { continue }
        guard state.copyOrders[index].skipping == 0 else {
          state.copyOrders[index].skipping -= 1
          return nil
        }
        return state.copyOrders.remove(at: index).body
      }
      return nil
    }
    body?()
  }

  private func serve(_ client: Int32) {
    let path = state.withLock { $0.socketPath }
    guard let server = LoopbackListener.connect(unixSocket: path) else {
      Glibc.close(client)
      return
    }
    let connection = ProxyConnection(client: client, server: server)
    let number = state.withLock { state -> Int? in
      guard !state.isClosed else { return nil }
      state.nextConnection += 1
      state.connections[state.nextConnection] = connection
      return state.nextConnection
    }
    guard let number else { return }
    connection.run(
      isCutDue: { [weak self] in self?.isCutDue($0, application: $1) ?? false },
      copyBegins: { [weak self] in self?.copyBegins(application: $0) },
      ended: { [weak self] in _ = self?.state.withLock { $0.connections.removeValue(forKey: number) } })
  }
}
