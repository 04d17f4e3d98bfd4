internal import Glibc
internal import Synchronization
internal import Threads

/// The connections that are open, and since when each owes us a whole request. The library closes those on which nothing
/// comes; a client that sends one byte now and then would keep its place for ever.
final class OpenConnections: Sendable {
  private struct Entry {
    let socket: Int32
    /// On the monotonic clock, in milliseconds; nil while its request is being answered.
    var owesSince: Int64?
  }

  /// By the address of the library's handle, which is never followed here.
  private let entries = Mutex<[UInt: Entry]>([:])

  var count: Int { entries.withLock { $0.count } }

  func begin(_ connection: OpaquePointer, socket: Int32) {
    entries.withLock {
      $0[UInt(bitPattern: connection)] = Entry(socket: socket, owesSince: MonotonicClock.milliseconds)
    }
  }

  /// To be called before the socket is closed: its number may then be another's.
  func end(_ connection: OpaquePointer) { entries.withLock { $0[UInt(bitPattern: connection)] = nil } }

  /// A whole request has come.
  func noteRequest(_ connection: OpaquePointer) {
    entries.withLock { $0[UInt(bitPattern: connection)]?.owesSince = nil }
  }

  /// The next request may come.
  func awaitRequest(_ connection: OpaquePointer) {
    entries.withLock { $0[UInt(bitPattern: connection)]?.owesSince = MonotonicClock.milliseconds }
  }

  /// Hangs up on those that have owed a request since before this moment; the library then closes them.
  func hangUp(owingSinceBefore moment: Int64) {
    entries.withLock { entries in
      for entry in entries.values {
        if let since = entry.owesSince, since < moment, entry.socket >= 0 {
          shutdown(entry.socket, Int32(SHUT_RDWR))
        }
      }
    }
  }
}

/// The thread that looks after connections once a second.
final class ConnectionWatch: Sendable {
  private static let pauseMilliseconds: Int64 = 1_000

  private let stopping = StopRequest()
  private let thread: OwnerThread

  init(_ connections: OpenConnections, seconds: Int) {
    thread = OwnerThread("http-watch", stackBytes: 65_536) { [stopping] in
      while !stopping.wait(milliseconds: Self.pauseMilliseconds) {
        connections.hangUp(owingSinceBefore: MonotonicClock.milliseconds - Int64(seconds) * 1_000)
      }
    }
  }

  func stop() {
    stopping.make()
    thread.join()
  }
}
