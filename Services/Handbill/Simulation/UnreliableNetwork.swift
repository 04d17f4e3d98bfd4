internal import AdClient
internal import AdCore
internal import AdEvents
internal import Synchronization
internal import Threads

/// The ways from devices to the network as they are: some events go twice, some are held back and arrive after later ones,
/// and somebody alters a token now and then.
final class UnreliableNetwork: Sendable {
  private let settings: SimulationSettings
  private let agenda: Agenda
  private let tally: TallyCounter
  private let chance: Mutex<SeededChance>
  private struct Load {
    /// Requests without an answer, and events without the network's word.
    var underWay = 0
    /// All there ever were.
    var begun = 0
  }

  private let load = Monitor(Load())
  private static let delayMilliseconds: ClosedRange<Int64> = 200...2_500

  init(settings: SimulationSettings, agenda: Agenda, tally: TallyCounter) {
    self.settings = settings
    self.agenda = agenda
    self.tally = tally
    chance = Mutex(SeededChance(seed: settings.seed ^ 0x6E65_7477_6F72_6B))
  }

  /// A transport, with its faults.
  func over(_ transport: AdTransport) -> AdTransport {
    AdTransport { context in UnreliableTransport(network: self, inner: transport.make(context)) }
  }

  /// Blocks until everything is answered and acknowledged; false when the time ran out first.
  func waitUntilIdle(timeoutMilliseconds: Int) -> Bool {
    load.wait(timeoutMilliseconds: timeoutMilliseconds) { $0.underWay == 0 }
  }

  /// How many requests and events there were.
  var begun: Int { load.withLock { $0.begun } }

  fileprivate func began() {
    load.withLock { load in
      load.underWay += 1
      load.begun += 1
    }
  }

  fileprivate func ended() { load.update { $0.underWay -= 1 } }

  fileprivate func send(
    _ event: OutgoingEvent, over transport: any NetworkTransport, ended: @escaping @Sendable (EventEnd) -> Void
  ) -> Bool {
    let (isForged, isRepeated, delay) = chance.withLock { chance in
      (
        chance.chance(settings.forgedBasisPoints), chance.chance(settings.duplicateBasisPoints),
        chance.chance(settings.lateBasisPoints) ? chance.milliseconds(Self.delayMilliseconds) : 0
      )
    }
    if isForged, let forged = Self.forged(event) {
      _ = send(forged, over: transport, after: 0) { [tally] end in
        if end == .acknowledged { tally.change { $0.forgedEvents += 1 } }
      }
    }
    guard isRepeated else { return send(event, over: transport, after: delay, ended: ended) }
    // Whichever copy the network has first is the event; the run may end before the other one is sent.
    let note = CopyNote(first: ended) { [tally] in tally.change { $0.repeatedEvents += 1 } }
    _ = send(event, over: transport, after: delay / 2, ended: note.ended)
    return send(event, over: transport, after: delay, ended: note.ended)
  }

  private func send(
    _ event: OutgoingEvent, over transport: any NetworkTransport, after delay: Int64,
    ended: @escaping @Sendable (EventEnd) -> Void
  ) -> Bool {
    began()
    let tell: @Sendable () -> Bool = { [self] in
      let isTaken = transport.send(event) {
        ended($0)
        self.ended()
      }
      if !isTaken { self.ended() }
      return isTaken
    }
    guard delay > 0 else { return tell() }
    agenda.add(at: DeviceClock.monotonic.advanced(byMilliseconds: delay), isOnItsWay: true) {
      // Whatever was held back is no longer held back by its device.
      if tell() { transport.flush() }
    }
    return true
  }

  /// The same event by another hand: an id of its own, and a token with one bit turned.
  private static func forged(_ event: OutgoingEvent) -> OutgoingEvent? {
    func altered(_ token: [UInt8]) -> [UInt8] {
      var token = token
      if !token.isEmpty { token[token.count / 2] ^= 1 }
      return token
    }
    let message: OutgoingEvent.Message
    switch event.message {
    case .impression(var impression):
      guard case .serve(let token) = impression.subject else { return nil }
      impression.subject = .serve(token: altered(token))
      message = .impression(impression)
    case .click(var click):
      click.token = altered(click.token)
      click.conversion?.reference = "forged"
      message = .click(click)
    case .stored: return nil
    }
    return OutgoingEvent(
      id: DeviceClock.newID(), time: event.time, app: event.app, partitionKey: event.partitionKey, message: message)
  }
}

/// One client's way.
private struct UnreliableTransport: NetworkTransport {
  let network: UnreliableNetwork
  let inner: any NetworkTransport

  var connection: AdConnectionState { inner.connection }

  func send(
    _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
    completion: @escaping @Sendable (RequestResult) -> Void
  ) {
    network.began()
    inner.send(request, acknowledged: acknowledged) { [network] result in
      completion(result)
      network.ended()
    }
  }

  func send(_ event: OutgoingEvent, ended: @escaping @Sendable (EventEnd) -> Void) -> Bool {
    network.send(event, over: inner, ended: ended)
  }

  func flush() { inner.flush() }

  func close(timeoutMilliseconds: Int) -> Bool { inner.close(timeoutMilliseconds: timeoutMilliseconds) }
}

/// Tells the copies of one event apart: the first that ended is the event, any other a repetition.
private final class CopyNote: Sendable {
  private let isTold = Atomic(false)
  private let first: @Sendable (EventEnd) -> Void
  private let repeated: @Sendable () -> Void

  init(first: @escaping @Sendable (EventEnd) -> Void, repeated: @escaping @Sendable () -> Void) {
    self.first = first
    self.repeated = repeated
  }

  @Sendable func ended(_ end: EventEnd) {
    if !isTold.exchange(true, ordering: .relaxed) { first(end) } else if end == .acknowledged { repeated() }
  }
}
