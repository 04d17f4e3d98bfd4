package import AdBasics
internal import AdEvents
internal import Synchronization
internal import Threads

/// One client's conversation with the network: turns what the state machines want into messages. It is small and has
/// no thread, so that a fleet can hold thousands over one transport.
package final class AdSession: Sendable {
  /// What became of the events of this process.
  private struct Counts {
    var waiting = 0
    var refused = 0

    mutating func end(_ end: EventEnd) {
      waiting -= 1
      if end == .refused { refused += 1 }
    }
  }

  private let currentIdentity: Mutex<ClientIdentity>
  private let transport: any NetworkTransport
  private let clock: AdTestClock?
  private let tally: (@Sendable (AcknowledgedFact) -> Void)?
  private let counts = Monitor(Counts())

  /// - Parameter tally: Told each thing that the broker has acknowledged, on the transport's threads.
  package init(
    identity: ClientIdentity, transport: any NetworkTransport, clock: AdTestClock? = nil,
    tally: (@Sendable (AcknowledgedFact) -> Void)? = nil
  ) {
    self.clock = clock
    currentIdentity = Mutex(identity)
    self.transport = transport
    self.tally = tally
  }

  /// Events that the network does not have yet.
  var waitingCount: Int { counts.withLock { $0.waiting } }

  /// Events that were not taken, or that the network refused.
  var refusedCount: Int { counts.withLock { $0.refused } }

  /// The time that the ages of its ads go by.
  var now: MonotonicTime { clock?.now ?? DeviceClock.monotonic }

  /// Who asks.
  package var identity: ClientIdentity { currentIdentity.withLock { $0 } }

  /// Changes the client id of what is asked from now on; the ads that there are keep theirs.
  func setClientID(_ id: String?) { currentIdentity.withLock { $0.clientID = id } }

  /// What a request asks for.
  package struct Wish: Hashable, Sendable {
    package var placement: PlacementID
    /// Size identifiers; empty means portrait and landscape (S4).
    package var requiredSizes: [String]
    /// Empty means the first required one.
    package var currentSize: String
    package var isInterstitial: Bool

    package init(
      placement: PlacementID, requiredSizes: [String] = [], currentSize: String = "", isInterstitial: Bool = false
    ) {
      self.placement = placement
      self.requiredSizes = requiredSizes
      self.currentSize = currentSize
      self.isInterstitial = isInterstitial
    }
  }

  /// Asks for an ad; `completion` is called exactly once, on a thread of the transport.
  ///
  /// - Returns: The request's id, which errors without an ad are told by (M6).
  @discardableResult
  package func request(_ wish: Wish, completion: @escaping @Sendable (RequestResult) -> Void) -> UUIDv7 {
    let id = DeviceClock.newID()
    let identity = self.identity
    let request = AdRequest(
      requestID: id, appKey: identity.appKey, app: identity.app, placement: wish.placement,
      clientID: identity.clientID ?? "", sessionID: identity.sessionID, country: identity.country,
      device: identity.device, requiredSizes: wish.requiredSizes, currentSize: wish.currentSize,
      isInterstitial: wish.isInterstitial, deadlineMilliseconds: 0, replyPartition: 0, replyTopic: "",
      correlationID: [], segments: identity.segments)
    let placement = wish.placement
    transport.send(
      request, acknowledged: { [tally] in tally?(.request(placement: placement)) },
      completion: { [clock] result in
        guard case .ad(var ad) = result else { return completion(result) }
        if let clock { ad.answeredAt = clock.now }
        ad.partitionKey = ad.countsBySession ? identity.sessionID : identity.partitionKey
        completion(.ad(ad))
      })
    return id
  }

  /// Tells the network. `requestID` is the request that a report without an ad is about; without one such a report
  /// has nobody to be about and is left out.
  ///
  /// - Returns: False when it was dropped.
  @discardableResult
  package func report(_ report: AdReport, placement: PlacementID, requestID: UUIDv7?) -> Bool {
    let wall = DeviceClock.wall
    // The event's own identity travels in the headers, made from `id`.
    let identity = EventIdentity(idHash: 0, time: wall)
    guard let message = message(report, placement, requestID, identity) else { return false }
    let event = OutgoingEvent(
      id: DeviceClock.newID(), time: wall, app: self.identity.app, partitionKey: partitionKey(of: report.subject),
      message: message)
    return send(event, told: AdSession.fact(report, placement))
  }

  /// Tells what came of an ad for this app (M8), under a key that is nobody's (A8).
  ///
  /// - Returns: False when it was dropped.
  func tell(_ conversion: ClickEvent.Conversion) -> Bool {
    let wall = DeviceClock.wall
    let event = ClickEvent(
      kind: .converted, token: [], age: .unknown, actionMilliseconds: 0, leftApplication: false,
      conversion: conversion, identity: EventIdentity(idHash: 0, time: wall))
    let outgoing = OutgoingEvent(
      id: DeviceClock.newID(), time: wall, app: identity.app, partitionKey: DeviceClock.newID().description,
      message: .click(event))
    return send(outgoing, told: .converted(conversion.kind))
  }

  private func send(_ event: OutgoingEvent, told fact: AcknowledgedFact) -> Bool {
    counts.withLock { $0.waiting += 1 }
    let isTaken = transport.send(event) { [tally, counts] end in
      counts.withLock { $0.end(end) }
      if end == .acknowledged { tally?(fact) }
    }
    if !isTaken { counts.withLock { $0.end(.refused) } }
    return isTaken
  }

  /// Everything of an ad goes under the id that it was served to, also after the user got another one: under no other it
  /// counts.
  private func partitionKey(of subject: AdReport.Subject) -> String {
    if case .ad(let ad) = subject, let key = ad.partitionKey { return key }
    return identity.partitionKey
  }

  private func message(
    _ report: AdReport, _ placement: PlacementID, _ requestID: UUIDv7?, _ identity: EventIdentity
  ) -> OutgoingEvent.Message? {
    switch report.subject {
    case .request:
      guard case .failed(let error) = report.kind, let requestID else { return nil }
      return .impression(
        ImpressionEvent(
          kind: .failed,
          subject: .request(
            ImpressionEvent.RequestSubject(
              requestID: requestID, appKey: self.identity.appKey, app: self.identity.app, placement: placement,
              clientID: self.identity.clientID ?? "", sessionID: self.identity.sessionID)),
          age: .unknown, error: error, identity: identity))
    case .ad(let ad):
      let age = EventAge.milliseconds(AdSession.age(report, ad))
      func impression(_ kind: ImpressionEvent.Kind, _ error: AdError? = nil) -> OutgoingEvent.Message {
        .impression(
          ImpressionEvent(kind: kind, subject: .serve(token: ad.token), age: age, error: error, identity: identity))
      }
      func click(_ kind: TapKind, _ actionMilliseconds: Int64, left: Bool = false) -> OutgoingEvent.Message {
        .click(
          ClickEvent(
            kind: kind, token: ad.token, age: age, actionMilliseconds: actionMilliseconds, leftApplication: left,
            identity: identity))
      }
      return switch report.kind {
      case .rendered: impression(.rendered)
      case .viewed: impression(.viewed)
      case .unloaded: impression(.unloaded)
      case .neverShown: impression(.neverShown)
      case .expiredUnseen: impression(.expiredUnseen)
      case .shownBriefly: impression(.shownBriefly)
      case .failed(let error): impression(.failed, error)
      case .click(let lasted, let left): click(.click, lasted, left: left)
      case .blocked: click(.blocked, 0)
      case .cancelled(let lasted): click(.cancelled, lasted)
      }
    }
  }

  /// Milliseconds since the answer came, on the monotonic clock.
  private static func age(_ report: AdReport, _ ad: AdContent) -> Int64 {
    max(0, report.at.milliseconds(since: ad.answeredAt))
  }

  private static func fact(_ report: AdReport, _ placement: PlacementID) -> AcknowledgedFact {
    switch (report.subject, report.kind) {
    case (.ad(let ad), let kind):
      .told(kind, serve: ad.serveID, placement: placement, isTest: ad.isTest, ageMilliseconds: age(report, ad))
    case (.request, .failed(let error)): .failed(error, placement: placement)
    case (.request, _): .failed(.unknown, placement: placement)
    }
  }
}
