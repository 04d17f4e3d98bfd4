package import AdCore
internal import AdEvents

/// A served ad on which clicks wait, as the tables have it.
package struct WaitingServe: Hashable, Sendable {
  package var serveID: ServeID
  package var client: ClickClient
  package var expiresAt: Timestamp
  /// When its clicks happened that wait.
  package var eventTimes: ClosedRange<Timestamp>
  /// It was seen: its clicks wait for earlier ones of their client.
  package var isSeen: Bool

  package init(
    serveID: ServeID, client: ClickClient, expiresAt: Timestamp, eventTimes: ClosedRange<Timestamp>, isSeen: Bool
  ) {
    self.serveID = serveID
    self.client = client
    self.expiresAt = expiresAt
    self.eventTimes = eventTimes
    self.isSeen = isSeen
  }
}

/// Which clicks of a partition wait, as far as it must be known without asking the tables: an impression for which none
/// waits, and a client of whom none waits, cost no look-up.
struct WaitingClicks {
  /// A served ad that was not seen and has clicks.
  struct Unseen {
    let client: ClickClient
    /// The token's.
    let expiresAt: Timestamp
  }

  private(set) var unseen: [ServeID: Unseen] = [:]
  /// Clients with clicks that wait, for whatever, and within which times these happened.
  private(set) var clients: [ClickClient: ClosedRange<Timestamp>] = [:]
  /// No token of ``unseen`` expires earlier.
  private(set) var earliestExpiry = Timestamp(milliseconds: .max)
  /// What was changed since ``begin()``, to change it back.
  private var undoLog: [Change] = []

  private enum Change {
    case unseen(ServeID, before: Unseen?)
    case client(ClickClient, before: ClosedRange<Timestamp>?)
  }

  init(_ serves: [WaitingServe]) {
    for serve in serves {
      if !serve.isSeen { unseen[serve.serveID] = Unseen(client: serve.client, expiresAt: serve.expiresAt) }
      let times = serve.eventTimes
      clients[serve.client] = (clients[serve.client] ?? times).extended(to: times.lowerBound).extended(
        to: times.upperBound)
    }
    updateEarliestExpiry()
  }

  mutating func begin() { undoLog.removeAll(keepingCapacity: true) }

  /// A click waits for the view of its ad.
  mutating func park(_ click: ParkedClick) {
    let serve = click.terms.serveID
    undoLog.append(.unseen(serve, before: unseen[serve]))
    unseen[serve] = Unseen(client: click.client, expiresAt: click.terms.expiresAt)
    earliestExpiry = min(earliestExpiry, click.terms.expiresAt)
  }

  /// No click waits for this ad's view any more.
  mutating func release(_ serve: ServeID) {
    if let before = unseen.removeValue(forKey: serve) { undoLog.append(.unseen(serve, before: before)) }
  }

  /// The client's clicks that still wait happened within these times; nil where none waits.
  mutating func set(_ client: ClickClient, to times: ClosedRange<Timestamp>?) {
    let before = clients[client]
    guard before != times else { return }
    undoLog.append(.client(client, before: before))
    clients[client] = times
  }

  /// Finds ``earliestExpiry`` anew, after some were released.
  mutating func updateEarliestExpiry() {
    earliestExpiry = unseen.values.map(\.expiresAt).min() ?? Timestamp(milliseconds: .max)
  }

  mutating func revert() {
    for change in undoLog.reversed() {
      switch change {
      case .client(let client, let before): clients[client] = before
      case .unseen(let serve, let before):
        unseen[serve] = before
        if let before { earliestExpiry = min(earliestExpiry, before.expiresAt) }
      }
    }
    undoLog.removeAll()
  }
}
