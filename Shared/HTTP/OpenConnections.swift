internal import Glibc
internal import Synchronization
internal import Threads

/// The connections that are open, since when each owes us a whole request, what of its body is here, and the answer
/// that nobody has read. The library closes those on which nothing comes; a client that sends one byte now and then
/// would keep its place for ever, and many that begin large bodies, or read no answers, all memory.
final class OpenConnections: Sendable {
  private struct Entry {
    let socket: Int32
    /// On the monotonic clock, in microseconds; nil while its request is being answered.
    var owesSince: Int64?
    /// Of its request's body.
    var bodyBytes = 0
    /// Of its answer, from when it is made until the library has written all of it.
    var answerBytes = 0
    /// As ``owesSince``; nil while there is no answer.
    var answeredSince: Int64?
    var isHungUp = false

    var canBeHungUp: Bool { !isHungUp && socket >= 0 }
  }

  /// What all connections have in memory of one kind.
  private struct Load {
    let bytesMaximum: Int
    var bytes = 0
    /// Of those on whose connections was hung up: they go as soon as the library sees it.
    var doomedBytes = 0

    /// Those that stay are more than there may be with so many more.
    func isTooMuch(with more: Int = 0) -> Bool { bytes - doomedBytes + more > bytesMaximum }
    /// Whether so many more are held at all, while those that are doomed have not gone.
    func hasRoom(for more: Int) -> Bool { bytes + more <= 2 * bytesMaximum }

    mutating func remove(_ count: Int, isDoomed: Bool) {
      bytes -= count
      if isDoomed { doomedBytes -= count }
    }
  }

  private struct State {
    /// By the address of the library's handle, which is never followed here.
    var entries: [UInt: Entry] = [:]
    var bodies: Load
    var answers: Load

    /// The library then closes it.
    mutating func hangUp(_ key: UInt) {
      guard let entry = entries[key], entry.canBeHungUp else { return }
      shutdown(entry.socket, Int32(SHUT_RDWR))
      entries[key]?.isHungUp = true
      bodies.doomedBytes += entry.bodyBytes
      answers.doomedBytes += entry.answerBytes
    }

    mutating func forgetBody(_ key: UInt) {
      guard let entry = entries[key] else { return }
      bodies.remove(entry.bodyBytes, isDoomed: entry.isHungUp)
      entries[key]?.bodyBytes = 0
    }

    mutating func forgetAnswer(_ key: UInt) {
      guard let entry = entries[key] else { return }
      answers.remove(entry.answerBytes, isDoomed: entry.isHungUp)
      entries[key]?.answerBytes = 0
      entries[key]?.answeredSince = nil
    }

    /// Hangs up on those whose answers have been on their way for longest, until there is room for so many bytes more.
    mutating func relieveAnswers(of more: Int, sparing key: UInt) {
      while answers.isTooMuch(with: more) {
        let slowest = entries.filter { $0.value.answerBytes > 0 && $0.key != key && $0.value.canBeHungUp }
          .min { ($0.value.answeredSince ?? 0) < ($1.value.answeredSince ?? 0) }
        guard let slowest else { return }
        hangUp(slowest.key)
      }
    }
  }

  private let state: Mutex<State>

  /// - Parameters:
  ///   - bodyBytesMaximum: of all bodies.
  ///   - answerBytesMaximum: of all answers.
  init(bodyBytesMaximum: Int, answerBytesMaximum: Int) {
    state = Mutex(
      State(bodies: Load(bytesMaximum: bodyBytesMaximum), answers: Load(bytesMaximum: answerBytesMaximum)))
  }

  var count: Int { state.withLock { $0.entries.count } }
  var bodyBytes: Int { state.withLock { $0.bodies.bytes } }
  var answerBytes: Int { state.withLock { $0.answers.bytes } }

  func begin(_ connection: OpaquePointer, socket: Int32) {
    state.withLock {
      $0.entries[UInt(bitPattern: connection)] = Entry(socket: socket, owesSince: MonotonicClock.microseconds)
    }
  }

  /// To be called before the socket is closed: its number may then be another's.
  func end(_ connection: OpaquePointer) {
    state.withLock { state in
      let key = UInt(bitPattern: connection)
      state.forgetBody(key)
      state.forgetAnswer(key)
      state.entries[key] = nil
    }
  }

  /// A piece of a body has come. Where all take too much, whoever has owed a whole request for longest is hung up on.
  ///
  /// - Returns: false where there is no memory for it all the same.
  func take(_ connection: OpaquePointer, bytes: Int) -> Bool {
    state.withLock { state in
      let key = UInt(bitPattern: connection)
      guard let entry = state.entries[key], !entry.isHungUp, state.bodies.hasRoom(for: bytes) else { return false }
      state.entries[key]?.bodyBytes += bytes
      state.bodies.bytes += bytes
      guard state.bodies.isTooMuch() else { return true }
      let slowest = state.entries.filter { $0.value.owesSince != nil && $0.value.bodyBytes > 0 && !$0.value.isHungUp }
        .min { ($0.value.owesSince ?? 0) < ($1.value.owesSince ?? 0) }
      if let slowest { state.hangUp(slowest.key) }
      return true
    }
  }

  /// The body is not needed any more.
  func forgetBody(_ connection: OpaquePointer) {
    state.withLock { $0.forgetBody(UInt(bitPattern: connection)) }
  }

  /// An answer is made. Where all take too much, those that have been on their way for longest are hung up on: whoever
  /// does not read hurts himself. One that is alone is taken however large it is.
  ///
  /// - Parameter key: the address of the library's handle.
  /// - Returns: false where there is no memory for it all the same.
  func takeAnswer(_ key: UInt, bytes: Int) -> Bool {
    state.withLock { state in
      guard let entry = state.entries[key], !entry.isHungUp else { return false }
      let isTaken = bytes == 0 || state.answers.bytes == 0 || state.answers.hasRoom(for: bytes)
      if isTaken {
        state.forgetAnswer(key)
        state.entries[key]?.answerBytes = bytes
        state.entries[key]?.answeredSince = MonotonicClock.microseconds
        state.answers.bytes += bytes
      }
      state.relieveAnswers(of: isTaken ? 0 : bytes, sparing: key)
      return isTaken
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
      state.forgetAnswer(key)
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
