package import AdCore

/// What identifies a request: its id, who sent it, and by which kind of key, so that nobody is answered with another's
/// decision, and no test build with a live ad (A1).
package struct RequestKey: Hashable, Sendable {
  package var requestID: UUIDv7
  package var app: AppID
  /// The keyed hash of the client or session id.
  package var client: UInt64
  /// Whether the key is that of a test build.
  package var isTest: Bool

  package init(requestID: UUIDv7, app: AppID, client: UInt64, isTest: Bool) {
    self.isTest = isTest
    self.requestID = requestID
    self.app = app
    self.client = client
  }
}

/// The decisions of the last 60 s by request: the same request again is answered with the decision it has. Time is that
/// of arrivals, so that a stall between arrival and decision makes no request another one. Bounded: two generations, like
/// ``Throttle``.
package struct RecentRequests<Value: Hashable & Sendable>: Hashable, Sendable {
  private struct Entry: Hashable, Sendable {
    var value: Value
    var at: Timestamp
  }

  /// How long a decision is remembered, from its request's arrival, in milliseconds.
  package let memoryMilliseconds: Int64
  /// The most decisions of one generation.
  package let entriesMaximum: Int
  private var start = Timestamp(milliseconds: 0)
  private var current: [RequestKey: Entry] = [:]
  private var previous: [RequestKey: Entry] = [:]

  package init(memoryMilliseconds: Int64 = 60_000, entriesMaximum: Int = 500_000) {
    self.memoryMilliseconds = memoryMilliseconds
    self.entriesMaximum = max(1, entriesMaximum)
  }

  /// How many decisions are held, at most twice ``entriesMaximum``.
  package var count: Int { current.count + previous.count }

  /// The decision made for `key`, if its request came less than 60 s before `now`.
  package func decision(for key: RequestKey, now: Timestamp) -> Value? {
    guard let entry = current[key] ?? previous[key], now.milliseconds(since: entry.at) < memoryMilliseconds else {
      return nil
    }
    return entry.value
  }

  /// Remembers a decision of a request that came at `moment`.
  package mutating func note(_ value: Value, for key: RequestKey, at moment: Timestamp) {
    let age = moment.milliseconds(since: start)
    if age >= memoryMilliseconds || current.count >= entriesMaximum {
      previous = age >= 2 * memoryMilliseconds ? [:] : current
      current = [:]
      start = moment
    }
    current[key] = Entry(value: value, at: moment)
  }
}
