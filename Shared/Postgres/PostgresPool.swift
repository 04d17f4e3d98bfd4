import Foundation

/// A fixed number of connections that several threads share, each used by one thread at a time. A connection is made at
/// its first use, and again after it was lost. Calls block: they belong on threads of ours.
///
/// `@unchecked Sendable` holds because every stored variable is only touched under `condition`'s lock, and a connection
/// that is handed out is in nobody else's hands until it is given back.
package final class PostgresPool: @unchecked Sendable {
  package let configuration: PostgresConfiguration
  /// The most connections.
  package let size: Int
  /// How long a call waits for a connection when all are in use.
  package let waitMillisecondsMaximum: Int
  private let condition = NSCondition()
  private var idle: [PostgresConnection] = []
  private var made = 0
  private var isClosed = false

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
    condition.lock()
    defer { condition.unlock() }
    isClosed = true
    for connection in idle { connection.close() }
    made -= idle.count
    idle.removeAll()
    condition.broadcast()
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
    let deadline = Date(timeIntervalSinceNow: TimeInterval(waitMillisecondsMaximum) / 1_000)
    condition.lock()
    defer { condition.unlock() }
    while true {
      guard !isClosed else { throw PostgresError(.poolUnavailable, "the pool is closed") }
      if let connection = idle.popLast() { return connection }
      if made < size {
        made += 1
        return nil
      }
      guard condition.wait(until: deadline) else {
        throw PostgresError(
          .poolUnavailable, "all \(size) connections were in use for \(waitMillisecondsMaximum) ms")
      }
    }
  }

  private func giveBack(_ connection: PostgresConnection) {
    if connection.isInTransaction {
      // A rollback that fails leaves a lost connection, which the next user makes anew.
      do throws(PostgresError) { try connection.rollback() } catch { connection.close() }
    }
    condition.lock()
    defer { condition.unlock() }
    if isClosed {
      connection.close()
      made -= 1
    } else {
      idle.append(connection)
      condition.signal()
    }
  }

  private func forget() {
    condition.lock()
    made -= 1
    condition.signal()
    condition.unlock()
  }
}
