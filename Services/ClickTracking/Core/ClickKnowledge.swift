package import AdCore
internal import AdEvents
internal import Pipeline

/// What a batch asks the tables before it is decided.
package struct ClickQuery: Hashable, Sendable {
  /// What is asked about a client.
  package struct Client: Hashable, Sendable {
    /// Within which its clicks lie that may be decided now, by event time.
    package var eventTimes: ClosedRange<Timestamp>
    /// Whether clicks of it wait: without, the tables need not be asked for them.
    package var hasWaiting: Bool
  }

  /// Which of these events are stored already; waiting clicks stand beside their clients.
  package var identities: Set<ActionIdentity> = []
  /// When these ads were seen.
  package var serves: Set<ServeID> = []
  /// Which clicks of these clients are judged, and which wait, with the views of their ads.
  package var clients: [ClickClient: Client] = [:]
  /// Which conversions of these ads are stored.
  package var converted: Set<ServeID> = []
  /// Whose app keys these are, by SHA-256.
  package var keys: Set<[UInt8]> = []

  package init() {}

  package var isEmpty: Bool { identities.isEmpty && clients.isEmpty && converted.isEmpty }

  /// Asks for a client whose clicks at these times may be decided now, those that wait included.
  mutating func ask(for client: ClickClient, at eventTimes: ClosedRange<Timestamp>, waiting: ClosedRange<Timestamp>?) {
    var asked = clients[client] ?? Client(eventTimes: eventTimes, hasWaiting: waiting != nil)
    for times in [eventTimes, waiting].compactMap(\.self) {
      asked.eventTimes = asked.eventTimes.extended(to: times.lowerBound).extended(to: times.upperBound)
    }
    clients[client] = asked
  }
}

extension ClickQuery.Client {
  /// When the ads were served whose judged clicks may matter: those that the limits weigh against clicks at these
  /// times, and all of the days on which the clicks' own ads were served.
  package func serveTimes(_ windows: Windows) -> ClosedRange<Timestamp> {
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

  package init() {}
}
