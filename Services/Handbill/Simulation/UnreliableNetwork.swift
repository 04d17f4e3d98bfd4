internal import AdClient
internal import AdCore
internal import AdEvents
internal import Synchronization

/// The way from a device to the broker as it is: some events go twice, some are held back and arrive after later ones,
/// and somebody alters a token now and then.
final class UnreliableNetwork: NetworkTransport {
  private let transport: any NetworkTransport
  private let settings: SimulationSettings
  private let agenda: Agenda
  private let tally: TallyCounter
  private let chance: Mutex<SeededChance>
  private static let delayMilliseconds: ClosedRange<Int64> = 200...2_500

  init(_ transport: any NetworkTransport, settings: SimulationSettings, agenda: Agenda, tally: TallyCounter) {
    self.transport = transport
    self.settings = settings
    self.agenda = agenda
    self.tally = tally
    chance = Mutex(SeededChance(seed: settings.seed ^ 0x6E65_7477_6F72_6B))
  }

  func send(
    _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
    completion: @escaping @Sendable (RequestResult) -> Void
  ) {
    transport.send(request, acknowledged: acknowledged, completion: completion)
  }

  func send(_ event: OutgoingEvent, acknowledged: @escaping @Sendable () -> Void) -> Bool {
    let (isForged, isRepeated, delay) = chance.withLock { chance in
      (
        chance.chance(settings.forgedBasisPoints), chance.chance(settings.duplicateBasisPoints),
        chance.chance(settings.lateBasisPoints) ? chance.milliseconds(Self.delayMilliseconds) : 0
      )
    }
    if isForged, let forged = Self.forged(event) {
      transport.send(forged) { [tally] in tally.change { $0.forgedEvents += 1 } }
    }
    guard isRepeated else { return send(event, after: delay, acknowledged: acknowledged) }
    // Whichever copy the broker has first is the event; the run may end before the other one is sent.
    let note = CopyNote(first: acknowledged) { [tally] in tally.change { $0.repeatedEvents += 1 } }
    _ = send(event, after: delay / 2, acknowledged: note.acknowledge)
    return send(event, after: delay, acknowledged: note.acknowledge)
  }

  private func send(
    _ event: OutgoingEvent, after delay: Int64, acknowledged: @escaping @Sendable () -> Void
  ) -> Bool {
    guard delay > 0 else { return transport.send(event, acknowledged: acknowledged) }
    agenda.add(at: DeviceClock.monotonic.advanced(byMilliseconds: delay), isOnItsWay: true) { [transport] in
      transport.send(event, acknowledged: acknowledged)
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
      message = .click(click)
    case .stored: return nil
    }
    return OutgoingEvent(
      id: DeviceClock.newID(), time: event.time, app: event.app, partitionKey: event.partitionKey, message: message)
  }
}

/// Tells the copies of one event apart by their acknowledgements: the first is the event, any other a repetition.
private final class CopyNote: Sendable {
  private let isTold = Atomic(false)
  private let first: @Sendable () -> Void
  private let repeated: @Sendable () -> Void

  init(first: @escaping @Sendable () -> Void, repeated: @escaping @Sendable () -> Void) {
    self.first = first
    self.repeated = repeated
  }

  @Sendable func acknowledge() {
    if isTold.exchange(true, ordering: .relaxed) { repeated() } else { first() }
  }
}
