internal import Glibc
internal import Synchronization
internal import Threads

/// The connections that are open, since when each owes us a whole request, and what of its body is here. The library closes those
/// on which nothing comes; a client that sends one byte now and then would keep its place for ever, and many that begin
/// large bodies all memory.
final class OpenConnections: Sendable {
  private struct Entry {
    let socket: Int32
    /// On the monotonic clock, in microseconds; nil while its request is being answered.
    var owesSince: Int64?
    /// Of its request's body.
    var bytes = 0
    var isHungUp = false
  }

  private struct State {
    /// By the address of the library's handle, which is never followed here.
    var entries: [UInt: Entry] = [:]
    /// Of all bodies.
    var bytes = 0
    /// Of those on whose connections was hung up: they go as soon as the library sees it.
    var doomedBytes = 0

    /// The library then closes it.
    mutating func hangUp(_ key: UInt) {
      guard let entry = entries[key], !entry.isHungUp, entry.socket >= 0 else { return }
      shutdown(entry.socket, Int32(SHUT_RDWR))
      entries[key]?.isHungUp = true
      doomedBytes += entry.bytes
    }

    /// The entry's body is gone.
    mutating func forgetBody(_ key: UInt) {
      guard let entry = entries[key] else { return }
      bytes -= entry.bytes
      if entry.isHungUp { doomedBytes -= entry.bytes }
      entries[key]?.bytes = 0
    }
  }

  private let state = Mutex(State())
  private let bytesMaximum: Int

  /// - Parameter bytesMaximum: of all bodies.
  init(bytesMaximum: Int) { self.bytesMaximum = bytesMaximum }

  var count: Int { state.withLock { $0.entries.count } }
  var bodyBytes: Int { state.withLock { $0.bytes } }

  func begin(_ connection: OpaquePointer, socket: Int32) {
    state.withLock {
      $0.entries[UInt(bitPattern: connection)] = Entry(socket: socket, owesSince: MonotonicClock.microseconds)
    }
  }

  /// To be called before the socket is closed: its number may then be another's.
  func end(_ connection: OpaquePointer) {
    state.withLock { state in
      state.forgetBody(UInt(bitPattern: connection))
      state.entries[UInt(bitPattern: connection)] = nil
    }
  }

  /// A piece of a body has come. Where all take too much, whoever has owed a whole request for longest is hung up on.
  ///
  /// - Returns: false where there is no memory for it all the same.
  func take(_ connection: OpaquePointer, bytes: Int) -> Bool {
    state.withLock { state in
      let key = UInt(bitPattern: connection)
      guard let entry = state.entries[key], !entry.isHungUp, state.bytes + bytes <= 2 * bytesMaximum else {
        return false
      }
      state.entries[key]?.bytes += bytes
      state.bytes += bytes
      guard state.bytes - state.doomedBytes > bytesMaximum else { return true }
      let slowest = state.entries.filter { $0.value.owesSince != nil && $0.value.bytes > 0 && !$0.value.isHungUp }
        .min { ($0.value.owesSince ?? 0) < ($1.value.owesSince ?? 0) }
      if let slowest { state.hangUp(slowest.key) }
      return true
    }
  }

  /// A whole request has come.
  func noteRequest(_ connection: OpaquePointer) {
    state.withLock { $0.entries[UInt(bitPattern: connection)]?.owesSince = nil }
  }

  /// The next request may come.
  func awaitRequest(_ connection: OpaquePointer) {
    state.withLock { state in
      let key = UInt(bitPattern: connection)
      state.forgetBody(key)
      state.entries[key]?.owesSince = MonotonicClock.microseconds
    }
  }

  /// Hangs up on those that have owed a request since before this moment.
  func hangUp(owingSinceBefore moment: Int64) {
    state.withLock { state in
      for (key, entry) in state.entries {
        if let since = entry.owesSince, since < moment { state.hangUp(key) }
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
        connections.hangUp(owingSinceBefore: MonotonicClock.microseconds - Int64(seconds) * 1_000_000)
      }
    }
  }

  func stop() {
    stopping.make()
    thread.join()
  }
}
