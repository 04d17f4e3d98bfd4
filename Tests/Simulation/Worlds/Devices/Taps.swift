import AdCore
import AdEvents
import Pipeline

/// What users tap.
extension Devices {
  /// A tap, and its ad's impression at the last moment at which one counts, behind garbage of the same moment: a
  /// watermark may come between these two, and the tap must not be given up for it.
  func tapAndLastMoment(in world: World) {
    let partition = Int32(world.random.number(0...Int(world.partitionCount) - 1))
    let arrival = world.log.nextTimestamp(LogID(topic: Topic.impressions.name, partition: partition))
    let terms = makeTerms(issuedAt: arrival - 24 * Self.hour - Self.tokenLife, sentTo: partition, in: world)
    guard terms.partition == partition else { return }
    world.coverage.note(.impressionAtLastMoment)
    send(tapped(terms, age: Self.tokenLife + 200, lasted: 5_000), in: world, arrival: nil)
    send(garbage(.impressions, partition, in: world), in: world, arrival: arrival)
    send(seen(terms, age: Self.tokenLife, sentTo: partition), in: world, arrival: arrival)
  }

  /// One client taps several ads within a minute or so, most of them well. Their views are told later, in another
  /// order, or never: what counts must not depend on it.
  func tapSeveral(in world: World) {
    let partition = Int32(world.random.number(0...Int(world.partitionCount) - 1))
    let arrival = world.log.nextTimestamp(LogID(topic: Topic.clicks.name, partition: partition))
    let issued = min(arrival, world.slowestClock) - world.random.milliseconds(70_000...80_000)
    var first: ServedTerms?
    for _ in 0..<world.random.number(2...4) {
      var terms = makeTerms(issuedAt: issued - world.random.milliseconds(0...1_000), sentTo: partition, in: world)
      guard terms.partition == partition else { continue }
      if let first { (terms.app, terms.developer, terms.shareBasisPoints, terms.clientHash) = first.ofApp }
      first = terms
      let viewAge = world.random.milliseconds(Self.viewTime...2_000)
      let age = viewAge + world.random.pick([99, 200, 3_000, 59_000, 61_000])
      send(tapped(terms, age: age, lasted: world.random.pick([1_999, 5_000, 5_000, 5_000])), in: world, arrival: nil)
      served.append((terms, viewAge))
      untold.append((terms, viewAge))
    }
  }

  /// One of the views of ads that were tapped already.
  func tellView(in world: World) {
    let index = world.random.number(0...untold.count - 1)
    if index > 0 { world.coverage.note(.viewsInOtherOrder) }
    let view = untold.remove(at: index)
    send(seen(view.terms, age: view.age, sentTo: view.terms.partition), in: world, arrival: nil)
  }

  /// A tap on an ad that was shown, or whose showing is told only later.
  func tap(_ logID: LogID, in world: World) -> DeviceEvent {
    let arrival = world.log.nextTimestamp(logID)
    var (terms, age) = timing(arrival: arrival, sentTo: logID.partition, in: world)
    if !served.isEmpty, world.random.chance(750) {
      let shown = world.random.pick(served)
      terms = shown.terms
      let delays: [Int64] = [
        99, 100, 3_600_000, 3_600_001, 200, 800, 2_000, 61_000, -Self.viewTime, -Self.viewTime - 1,
      ]
      age = max(0, (shown.age ?? 0) + world.random.pick(delays))
      nextArrival = nil
    } else {
      served.append((terms, age))
    }
    let kind: TapKind = world.random.chance(850) ? .click : world.random.pick([.blocked, .cancelled])
    let lasted: Int64 = world.random.pick([1_999, 2_000, 5_000, 9_000])
    let hasLeft = world.random.chance(400)
    return tapped(
      terms, sign(terms, in: world), age: age, content: (kind, lasted, hasLeft), sentTo: logID.partition)
  }

  /// A tap on an ad that covers the screen, where its ad belongs.
  private func tapped(_ terms: ServedTerms, age: Int64, lasted: Int64) -> DeviceEvent {
    tapped(
      terms, (.sound, fixture.issuer.issue(terms)), age: age, content: (.click, lasted, false), sentTo: terms.partition)
  }

  private func tapped(
    _ terms: ServedTerms, _ signed: (form: DeviceEvent.Form, token: [UInt8]), age: Int64?,
    content: (kind: TapKind, lasted: Int64, hasLeft: Bool), sentTo partition: Int32
  ) -> DeviceEvent {
    let value = ClickEvent(
      kind: content.kind, token: signed.token, age: age.map(EventAge.milliseconds) ?? .unknown,
      actionMilliseconds: content.lasted, leftApplication: content.hasLeft,
      identity: EventIdentity(idHash: 0, time: nil))
    return DeviceEvent(
      number: events.count, form: signed.form, content: .click(content.kind, content.lasted, content.hasLeft),
      terms: terms, age: age, claimedTime: nil,
      message: message(value, on: .clicks, to: partition, claimed: nil, of: signed.form == .stolen ? nil : terms))
  }
}

extension ServedTerms {
  fileprivate var ofApp: (AppID, DeveloperID, UInt16, UInt64) { (app, developer, shareBasisPoints, clientHash) }
}
