internal import Threads

/// A fixed number of connections that several threads share, each used by one thread at a time. A connection is made at
/// its first use, and again after it was lost. Calls block: they belong on threads of ours.
package final class PostgresPool: Sendable {
  /// `@unchecked Sendable` holds because an idle connection is in nobody's hands but the pool's.
  private struct Idle: @unchecked Sendable {
    let connection: PostgresConnection
  }

  private struct State {
    var idle: [Idle] = []
    var made = 0
    var isClosed = false
  }

  /// What a caller gets who waits for a connection.
  private enum Turn {
    case reuse(Idle)
    /// There is room for a new one, which is counted already.
    case make
    case closed
  }

  package let configuration: PostgresConfiguration
  /// The most connections.
  package let size: Int
  /// How long a call waits for a connection when all are in use.
  package let waitMillisecondsMaximum: Int
  private let state = Monitor(State())

  /// Connects to nothing yet.
  ///
  /// - Parameter size: at least 1.
  package init(_ configuration: PostgresConfiguration, size: Int = 4, waitMillisecondsMaximum: Int = 5_000) {
    self.configuration = configuration
    self.size = max(1, size)
    self.waitMillisecondsMaximum = waitMillisecondsMaximum
  }

  /// Calls `body` with a connection of the pool. A transaction that `body` leaves open is rolled back.
  ///
  /// - Throws: `.poolUnavailable` when all connections stayed in use, or the pool is closed; else what connecting or
  ///   `body` throws. A lost connection is made anew by the next call.
  package func withConnection<Result>(
    _ body: (PostgresConnection) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    let connection = try take()
    defer { giveBack(connection) }
    return try body(connection)
  }

  /// Ends all connections: idle ones now, the others when they come back.
  package func close() {
    state.update { state in
      state.isClosed = true
      for idle in state.idle { idle.connection.close() }
      state.made -= state.idle.count
      state.idle.removeAll()
    }
  }

  private func take() throws(PostgresError) -> PostgresConnection {
    if let connection = try takeIdle() {
      guard !connection.isUsable else { return connection }
      do throws(PostgresError) { try connection.reconnect() } catch {
        forget()
        throw error
      }
      return connection
    }
    do throws(PostgresError) { return try PostgresConnection(configuration) } catch {
      forget()
      throw error
    }
  }

  /// An idle connection; nil when the caller may make a new one, which is then counted.
  private func takeIdle() throws(PostgresError) -> PostgresConnection? {
    let turn = state.waitForResult(timeoutMilliseconds: waitMillisecondsMaximum) { [size] state -> Turn? in
      guard !state.isClosed else { return .closed }
      if let idle = state.idle.popLast() { return .reuse(idle) }
      guard state.made < size else { return nil }
      state.made += 1
      return .make
    }
    switch turn {
    case .reuse(let idle): return idle.connection
    case .make: return nil
    case .closed: throw PostgresError(.poolUnavailable, "the pool is closed")
    case nil:
      throw PostgresError(.poolUnavailable, "all \(size) connections were in use for \(waitMillisecondsMaximum) ms")
    }
  }

  private func giveBack(_ connection: PostgresConnection) {
    if connection.isInTransaction {
      // A rollback that fails leaves a lost connection, which the next user makes anew.
      do throws(PostgresError) { try connection.rollback() } catch { connection.close() }
    }
    let idle = Idle(connection: connection)
    state.update { state in
      if state.isClosed {
        idle.connection.close()
        state.made -= 1
      } else {
        state.idle.append(idle)
      }
    }
  }

  private func forget() { state.update { $0.made -= 1 } }
}
