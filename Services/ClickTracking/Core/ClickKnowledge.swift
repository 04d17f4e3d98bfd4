package import AdCore
internal import AdEvents
internal import Pipeline

/// What a batch asks the tables before it is decided.
package struct ClickQuery: Hashable, Sendable {
  /// Which of these events are stored already; waiting clicks stand beside their clients.
  package var identities: Set<ActionIdentity> = []
  /// When these ads were seen.
  package var serves: Set<ServeID> = []
  /// Which clicks of these clients are judged, and which wait, with the views of their ads; and when those of the batch may
  /// have happened.
  package var clients: [ClickClient: ClosedRange<Timestamp>] = [:]
  /// The same of the clients whose clicks wait on these ads.
  package var waitedFor: Set<ServeID> = []
  package var unseen: UnseenPage.Query?
  /// Which ads' views do not come any more. What is asked of ``waitedFor`` is asked of them as well.
  package var expired: ExpiredServes?
  /// Which conversions of these ads are stored.
  package var converted: Set<ServeID> = []
  /// Whose app keys these are, by SHA-256.
  package var keys: Set<[UInt8]> = []

  package init() {}

  package var isEmpty: Bool {
    identities.isEmpty && clients.isEmpty && waitedFor.isEmpty && converted.isEmpty && unseen == nil && expired == nil
  }

  mutating func ask(for client: ClickClient, at eventTimes: ClosedRange<Timestamp>) {
    clients[client] =
      clients[client]?.extended(to: eventTimes.lowerBound).extended(to: eventTimes.upperBound) ?? eventTimes
  }

  /// When the ads were served whose judged clicks may matter to a client's of this batch and to those of it that wait:
  /// those that the limits weigh against clicks at these times, and all of the days on which the clicks' own ads were
  /// served. Nil where it has none.
  package func serveTimes(
    of client: ClickClient, waiting: some Sequence<ParkedClick>, windows: Windows
  ) -> ClosedRange<Timestamp>? {
    let times = waiting.reduce(clients[client]) { times, click in
      times?.extended(to: click.eventTime) ?? click.eventTime...click.eventTime
    }
    guard let eventTimes = times else { return nil }
    let history = max(windows.clickHistoryMilliseconds, Windows.dayMilliseconds)
    // An ad is served before its click, and not longer before than any token may be old.
    let age = windows.issuedBeforeArrivalMilliseconds + windows.clockToleranceMilliseconds
    return eventTimes.lowerBound.advanced(
      byMilliseconds: -history - age)...eventTimes.upperBound.advanced(
        byMilliseconds: history)
  }
}

/// What the tables know of what a batch asked.
package struct ClickKnowledge: Sendable {
  /// Stored events among those asked for.
  package var identities: Set<ActionIdentity> = []
  /// The served ads that were asked for.
  package var serves: Set<ServeID> = []
  /// When ads were seen: of those asked for, and of those on which clicks wait.
  package var seenAt: [ServeID: Timestamp] = [:]
  package var clients: [ClickClient: ClientClicks] = [:]
  /// Stored conversions of the ads that were asked for.
  package var conversions: [ConvertedAd: Set<ConversionIdentity>] = [:]
  /// The app keys among those asked for that the catalogue has.
  package var keys: [[UInt8]: KnownAppKey] = [:]
  package var unseen: UnseenPage?
  /// In the order in which they were asked for.
  package var expired: [ServeID] = []

  package init() {}
}
