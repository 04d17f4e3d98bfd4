internal import Glibc
internal import Synchronization
internal import Threads

/// What one customer of a provider usually has: an IPv4 address, or the first 64 bits of one of IPv6.
struct Household: Hashable, Sendable {
  private let bits: UInt64

  /// - Parameters:
  ///   - high: the first 64 bits of an address of IPv6, or of what stands there for one of IPv4.
  ///   - low: the others.
  init(high: UInt64, low: UInt64) {
    let isIPv4 = high == 0 && low >> 32 == 0xFFFF
    // Nobody has an address of IPv6 that begins like one of these.
    bits = isIPv4 ? low : high
  }
}

/// The connections that are open, since when each owes us a whole request, what of its body is here, and the answer
/// that nobody has read. The library closes those on which nothing comes; a client that sends one byte now and then
/// would keep its place for ever, and many that begin large bodies, or read no answers, all memory.
final class OpenConnections: Sendable {
  private struct Entry {
    let socket: Int32
    /// Whose it is, where it is one of those that are counted.
    var household: Household?
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
    /// How many connections each has.
    var households: [Household: Int] = [:]
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
        let slowest = slowest { $0 != key && $1.answerBytes > 0 ? $1.answeredSince : nil }
        guard let slowest else { return }
        hangUp(slowest)
      }
    }

    /// Of those on which can be hung up the one with the earliest moment.
    func slowest(since moment: (UInt, Entry) -> Int64?) -> UInt? {
      var slowest: (key: UInt, since: Int64)?
      for (key, entry) in entries where entry.canBeHungUp {
        guard let since = moment(key, entry), since < slowest?.since ?? .max else { continue }
        slowest = (key, since)
      }
      return slowest?.key
    }

    /// One more of that household, where it may have one.
    mutating func isWelcome(_ household: Household, maximum: Int) -> Bool {
      guard households[household, default: 0] < maximum else { return false }
      households[household, default: 0] += 1
      return true
    }

    mutating func leave(_ household: Household) {
      guard let count = households[household] else { return }
      households[household] = count > 1 ? count - 1 : nil
    }
  }

  /// A body with no more is a late one's first piece, or a dribbler's: to hang up on him brings little.
  private static let smallBodyBytes = 1_024

  private let state: Mutex<State>
  private let householdMaximum: Int?

  /// - Parameters:
  ///   - bodyBytesMaximum: of all bodies.
  ///   - answerBytesMaximum: of all answers.
  ///   - householdMaximum: connections of one household; nil for no such limit.
  init(bodyBytesMaximum: Int, answerBytesMaximum: Int, householdMaximum: Int? = nil) {
    self.householdMaximum = householdMaximum
    state = Mutex(
      State(bodies: Load(bytesMaximum: bodyBytesMaximum), answers: Load(bytesMaximum: answerBytesMaximum)))
  }

  var count: Int { state.withLock { $0.entries.count } }
  var bodyBytes: Int { state.withLock { $0.bodies.bytes } }
  var answerBytes: Int { state.withLock { $0.answers.bytes } }

  /// A connection has begun. Beyond what its household may have it is hung up on at once.
  func begin(_ connection: OpaquePointer, socket: Int32, household: Household? = nil) {
    state.withLock { state in
      let key = UInt(bitPattern: connection)
      state.entries[key] = Entry(socket: socket, owesSince: MonotonicClock.microseconds)
      guard let household, let householdMaximum else { return }
      if state.isWelcome(household, maximum: householdMaximum) {
        state.entries[key]?.household = household
      } else {
        state.hangUp(key)
      }
    }
  }

  /// To be called before the socket is closed: its number may then be another's.
  func end(_ connection: OpaquePointer) {
    state.withLock { state in
      let key = UInt(bitPattern: connection)
      state.forgetBody(key)
      state.forgetAnswer(key)
      if let household = state.entries[key]?.household { state.leave(household) }
      state.entries[key] = nil
    }
  }

  /// A piece of a body has come. Where all take too much, whoever has owed a whole request for longest is hung up on, of
  /// those with more than a little of it here if there are any.
  ///
  /// - Returns: false where there is no memory for it all the same.
  func take(_ connection: OpaquePointer, bytes: Int) -> Bool {
    state.withLock { state in
      let key = UInt(bitPattern: connection)
      guard let entry = state.entries[key], !entry.isHungUp, state.bodies.hasRoom(for: bytes) else { return false }
      state.entries[key]?.bodyBytes += bytes
      state.bodies.bytes += bytes
      guard state.bodies.isTooMuch() else { return true }
      let slowest =
        state.slowest { $1.bodyBytes > Self.smallBodyBytes ? $1.owesSince : nil }
        ?? state.slowest { $1.bodyBytes > 0 ? $1.owesSince : nil }
      if let slowest { state.hangUp(slowest) }
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

  /// Hangs up on those that have owed a request, and on those whose answer has been on its way, since before a moment.
  func hangUp(owingSinceBefore owing: Int64, answeredBefore answered: Int64) {
    state.withLock { state in
      for (key, entry) in state.entries
      where entry.owesSince ?? .max < owing || entry.answeredSince ?? .max < answered {
        state.hangUp(key)
      }
    }
  }
}

/// The thread that looks after connections once a second.
final class ConnectionWatch: Sendable {
  private static let pauseMilliseconds: Int64 = 1_000

  private let stopping = StopRequest()
  private let thread: OwnerThread

  /// - Parameters:
  ///   - owingSeconds: how long a whole request may be owed.
  ///   - answerSeconds: how long an answer may be on its way.
  init(_ connections: OpenConnections, owingSeconds: Int, answerSeconds: Int) {
    thread = OwnerThread("http-watch", stackBytes: 65_536) { [stopping] in
      while !stopping.wait(milliseconds: Self.pauseMilliseconds) {
        let now = MonotonicClock.microseconds
        connections.hangUp(
          owingSinceBefore: now - Int64(owingSeconds) * 1_000_000,
          answeredBefore: now - Int64(answerSeconds) * 1_000_000)
      }
    }
  }

  func stop() {
    stopping.make()
    thread.join()
  }
}
