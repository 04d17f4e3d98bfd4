package import AdCore
package import Pipeline
internal import Synchronization

/// What identifies a request: its id, who sent it, and by which kind of key, so that nobody is answered with another's
/// decision, and no test build with a live ad (A1).
package struct RequestKey: Hashable, Sendable {
  package var requestID: UUIDv7
  /// The keyed hash of the client or session id; it differs between apps.
  package var client: UInt64
  /// Whether the key is that of a test build.
  package var isTest: Bool

  package init(requestID: UUIDv7, client: UInt64, isTest: Bool) {
    self.isTest = isTest
    self.requestID = requestID
    self.client = client
  }
}

/// How much all partitions of a process remember together.
package struct SelectionMemory: Sendable {
  /// The most decisions, if nothing else is said: 60 s of 4,000 requests a second.
  package static let requestsMaximum = 240_000
  /// The most pairs of client and placement, and the most clients: 75 s of as many.
  package static let clientsMaximum = 150_000

  /// The most clients whose test requests are counted: about 4 MiB of them.
  package static let testClientsMaximum = 100_000

  /// The most names of placements that are kept apart in a day: about 8 MiB of them. Clients of every app come to every
  /// partition, so each has room for those of many apps: 4,096 names where a process has 128 partitions.
  package static let placementsMaximum = 524_288

  /// The most apps' hours whose requests are counted: about 3 MiB of them.
  package static let appHoursMaximum = 65_536

  /// The most decisions that are read back of one partition when it is opened.
  package static let readMaximum = 25_000
  /// The same of clients with test requests: about what a partition may count where a process has fifty.
  package static let readTestClientsMaximum = 2_000

  package let requests: RequestMemory
  package let clients: RequestMemory
  package let testClients: SharedBound
  package let placements = SharedBound(placementsMaximum)
  package let appHours = SharedBound(appHoursMaximum)
  package let forwards = SharedBound(ForwardLimit.rememberedMaximum)

  package init(
    requestsMaximum: Int = SelectionMemory.requestsMaximum, clientsMaximum: Int = SelectionMemory.clientsMaximum,
    testClientsMaximum: Int = SelectionMemory.testClientsMaximum
  ) {
    requests = RequestMemory(requestsMaximum)
    clients = RequestMemory(clientsMaximum)
    testClients = SharedBound(testClientsMaximum)
  }
}

/// How many entries of a kind all partitions of a process remember together.
package final class RequestMemory: Sendable {
  /// What one generation of one partition has taken of it.
  final class Quota: Sendable {
    private let memory: RequestMemory
    private let taken = Atomic(0)

    init(of memory: RequestMemory) { self.memory = memory }

    deinit { memory.left.add(taken.load(ordering: .relaxed), ordering: .relaxed) }

    /// - Returns: whether there was room for one more.
    func takeOne() -> Bool {
      guard memory.left.subtract(1, ordering: .relaxed).newValue >= 0 else {
        memory.left.add(1, ordering: .relaxed)
        return false
      }
      taken.add(1, ordering: .relaxed)
      return true
    }
  }

  private let left: Atomic<Int>

  package init(_ maximum: Int) { left = Atomic(max(1, maximum)) }
}

/// Under which id each request of the last 60 s was decided: the same request again is answered with the decision it has,
/// which its row tells. Time is that of arrivals, so that a stall between arrival and decision makes no request another
/// one. Bounded: two generations, like ``Throttle``, within what the process may remember; where that is used up the older
/// one is forgotten early, then the newer one.
///
/// 32 bytes an entry: requests are told apart by 64 bits of their ids and clients, and whether it is really the same request,
/// of the same client and kind of key, the row says.
package struct RecentRequests: Sendable {
  private struct Entry: Hashable, Sendable {
    var id: ServeID
    var at: Timestamp
  }

  private struct Generation: Sendable {
    var entries: [UInt64: Entry] = [:]
    let quota: RequestMemory.Quota

    init(of memory: RequestMemory) { quota = RequestMemory.Quota(of: memory) }
  }

  /// How long a decision is remembered, from its request's arrival, in milliseconds.
  package let memoryMilliseconds: Int64
  private let memory: RequestMemory
  private var start = Timestamp(milliseconds: 0)
  private var current: Generation
  private var previous: Generation

  package init(memoryMilliseconds: Int64 = 60_000, memory: RequestMemory = SelectionMemory().requests) {
    self.memoryMilliseconds = memoryMilliseconds
    self.memory = memory
    current = Generation(of: memory)
    previous = Generation(of: memory)
  }

  /// How many decisions are held.
  var count: Int { current.entries.count + previous.entries.count }

  /// Under which id the request was decided, if it came less than 60 s before `now`.
  ///
  /// - Parameter client: the keyed hash of who asks; another one with the same id has asked another request.
  package func id(of requestID: UUIDv7, client: UInt64, now: Timestamp) -> ServeID? {
    let key = Self.key(requestID, client)
    guard let entry = current.entries[key] ?? previous.entries[key],
      now.milliseconds(since: entry.at) < memoryMilliseconds
    else { return nil }
    return entry.id
  }

  /// Remembers the decision `id` of a request that came at `moment`.
  package mutating func note(_ requestID: UUIDv7, client: UInt64, id: ServeID, at moment: Timestamp) {
    let age = moment.milliseconds(since: start)
    if age >= memoryMilliseconds {
      turn(at: moment)
      if age >= 2 * memoryMilliseconds { previous = Generation(of: memory) }
    }
    let key = Self.key(requestID, client)
    if current.entries[key] == nil {
      // Two turns leave nothing of this partition's to be forgotten.
      var turns = 0
      while !current.quota.takeOne(), turns < 2 {
        turn(at: moment)
        turns += 1
      }
    }
    current.entries[key] = Entry(id: id, at: moment)
  }

  private mutating func turn(at moment: Timestamp) {
    previous = current
    current = Generation(of: memory)
    start = moment
  }

  /// Multiplied, for a client may be in its own ids.
  private static func key(_ requestID: UUIDv7, _ client: UInt64) -> UInt64 {
    requestID.high ^ requestID.low ^ client &* 0x9E37_79B9_7F4A_7C15
  }
}

extension RecentRequests: Hashable {
  package static func == (left: Self, right: Self) -> Bool {
    (left.start, left.memoryMilliseconds) == (right.start, right.memoryMilliseconds)
      && left.current.entries == right.current.entries && left.previous.entries == right.previous.entries
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(current.entries) }
}
