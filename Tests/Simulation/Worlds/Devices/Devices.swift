import AdCore
import AdEvents
import Pipeline
import Records

/// All devices: they were served ads, and tell what became of them, sometimes twice, late, early, or wrongly.
final class Devices {
  static let tokenLife: Int64 = 15 * 60_000
  /// How long an ad must be on screen to be seen, in milliseconds (B8).
  static let viewTime: Int64 = 200
  static let hour: Int64 = 3_600_000
  /// How many clicks of one client are judged of ads served on one day.
  static let judgedClicksOfClientPerDay = 6

  let fixture: Fixture
  private(set) var events: [DeviceEvent] = []
  /// Ads with genuine tokens, and the age that was told last for each.
  var served: [(terms: ServedTerms, age: Int64?)] = []
  /// Ads that ad selection has answered with and that nobody has seen yet. All others were served by networks of which
  /// only their tokens are known here: so events may lie exactly where they are wanted.
  private var fresh: [ServedTerms] = []
  private(set) var sentCount = 0
  /// Requests that were asked in JSON: their answers are JSON, those to all others are protobuf.
  var askedInJSON: Set<UUIDv7> = []
  /// Views of ads that were tapped already, to be told in any order, or never.
  var untold: [(terms: ServedTerms, age: Int64)] = []

  init(fixture: Fixture) { self.fixture = fixture }

  /// An answer arrives at its device, most of the time.
  func receive(_ message: OutgoingMessage, in world: World) {
    guard Samples.answerTopics.contains(message.topic),
      case .success(let response) = Self.response(in: message)
    else { return }
    if message.headers.contains(Self.jsonType) != askedInJSON.contains(response.requestID) {
      world.fail("the answer to \(response.requestID) has not the form of its request")
    }
    guard let terms = token(in: message) else { return }
    if world.random.chance(900) { fresh.append(terms) }
  }

  /// What the token in an answer says; nil for an answer without an ad.
  func token(in message: OutgoingMessage) -> ServedTerms? {
    guard case .success(let response) = Self.response(in: message), case .ad(let ad) = response.outcome,
      case .valid(let terms) = fixture.opener.open(ad.token, now: Timestamp(milliseconds: VirtualTime.start))
    else { return nil }
    return terms
  }

  static let jsonType = RecordHeader("content-type", "application/json")

  static func response(in message: OutgoingMessage) -> Result<AdResponse, Rejection> {
    var headers = RecordHeaders()
    for header in message.headers {
      headers.add(header)
    }
    return (message.value ?? []).withUnsafeBytes { AdResponse.decode(value: $0, headers: headers) }
  }

  /// The database refuses the rows of some ads, for a reason nobody foresaw.
  static func isRefused(_ terms: ServedTerms) -> Bool { terms.budgetDay == 13 }

  /// One device does something.
  func act(in world: World) {
    if world.random.chance(200), !events.isEmpty {
      resend(in: world)
      return
    }
    if world.random.chance(40), world.plan.timestampRegression == 0 {
      tapAndLastMoment(in: world)
      return
    }
    if world.random.chance(50) {
      tapSeveral(in: world)
      return
    }
    if !untold.isEmpty, world.random.chance(400) {
      tellView(in: world)
      return
    }
    let event = make(in: world)
    send(event, in: world, arrival: nextArrival)
  }

  func send(_ event: DeviceEvent, in world: World, arrival: Int64?) {
    events.append(event)
    sentCount += 1
    note(event, in: world)
    world.append(event.message, event: event.number, timestamp: arrival)
  }

  /// The arrival that the event was made for, where it was made for one.
  var nextArrival: Int64?

  private func note(_ event: DeviceEvent, in world: World) {
    switch event.form {
    case .sound: break
    case .forged: world.coverage.note(.clientForged)
    case .unknownKey: world.coverage.note(.clientUnknownKey)
    case .stolen: world.coverage.note(.clientOfAnother)
    case .garbage: world.coverage.note(.clientGarbage)
    }
    guard let terms = event.terms else { return }
    if !(0..<world.partitionCount).contains(terms.partition) {
      world.coverage.note(.unknownPartition)
    } else if terms.partition != event.message.partition {
      world.coverage.note(.wrongPartition)
    }
  }

  /// The same bytes again, perhaps to another partition.
  private func resend(in world: World) {
    world.coverage.note(.clientResend)
    let event = world.random.pick(events)
    var message = event.message
    // A failure without an ad belongs nowhere: its second copy elsewhere is a duplicate in whatever order they come.
    if event.hasPlace, world.random.chance(200) {
      message.partition = Int32(world.random.number(0...Int(world.log.partitionCount(message.topic)) - 1))
      // Somebody sends it there again and again.
      if world.random.chance(100) { for _ in 0..<5 { world.append(message, event: event.number) } }
    }
    world.append(message, event: event.number)
  }

  private func make(in world: World) -> DeviceEvent {
    let topic: Topic = world.random.pick([.requests, .requests, .impressions, .impressions, .clicks])
    let sentTo = Int32(world.random.number(0...Int(world.log.partitionCount(topic.name)) - 1))
    let logID = LogID(topic: topic.name, partition: sentTo)
    nextArrival = nil
    if world.random.chance(80) { return garbage(topic, sentTo, in: world) }
    if topic == .requests { return request(in: world) }
    if topic == .clicks { return tap(logID, in: world) }
    if !fresh.isEmpty, world.random.chance(700) { return view(in: world) }
    if world.random.chance(80) { return failureWithoutAd(sentTo, in: world) }
    let (terms, age) = timing(arrival: world.log.nextTimestamp(logID), sentTo: sentTo, in: world)
    var claimed: Int64?
    if age == nil, world.random.chance(700) {
      claimed = terms.issuedAt.milliseconds + world.random.milliseconds(-5_000...100_000)
    }
    let kind: ImpressionEvent.Kind =
      world.random.chance(700) ? .viewed : world.random.pick([.rendered, .unloaded, .failed])
    let error: AdError? = kind == .failed ? .unknown : nil
    let (form, token) = sign(terms, in: world)
    if form == .sound { served.append((terms, age)) }
    let value = ImpressionEvent(
      kind: kind, subject: .serve(token: token), age: age.map(EventAge.milliseconds) ?? .unknown, error: error,
      identity: EventIdentity(idHash: 0, time: nil))
    return DeviceEvent(
      number: events.count, form: form, content: .impression(kind, error), terms: terms, age: age,
      claimedTime: claimed,
      message: message(value, on: .impressions, to: sentTo, claimed: claimed, of: form == .stolen ? nil : terms))
  }

  /// The token of an ad; some are forged, some signed with a key that nobody knows.
  func sign(_ terms: ServedTerms, in world: World) -> (DeviceEvent.Form, [UInt8]) {
    if world.random.chance(40) {
      var token = fixture.issuer.issue(terms)
      token[world.random.number(3...token.count - 1)] ^= UInt8(1 << world.random.number(0...7))
      return (.forged, token)
    }
    if world.random.chance(20) { return (.stolen, fixture.issuer.issue(terms)) }
    if world.random.chance(20) { return (.unknownKey, fixture.foreignIssuer.issue(terms)) }
    return (.sound, fixture.issuer.issue(terms))
  }

  /// An ad and an age: most of them ordinary, some exactly at a border or a millisecond beyond.
  func timing(arrival: Int64, sentTo: Int32, in world: World) -> (ServedTerms, Int64?) {
    let life = Self.tokenLife
    if world.random.chance(700) {
      if !served.isEmpty, world.random.chance(350) {
        let terms = world.random.pick(served).terms
        let isOld = terms.issuedAt.milliseconds < arrival - Self.hour
        return (terms, world.random.milliseconds(0...(isOld ? life : 2_000)))
      }
      let issued = min(arrival, world.slowestClock + 5_000) - world.random.milliseconds(0...60_000)
      let age = world.random.chance(150) ? nil : world.random.milliseconds(0...max(0, arrival - issued))
      return (makeTerms(issuedAt: issued, sentTo: sentTo, in: world), age)
    }
    world.coverage.note(.borderEvent)
    if world.plan.timestampRegression == 0 { nextArrival = arrival }
    let beyond = world.random.milliseconds(0...1)
    let issued: Int64
    let age: Int64
    switch world.random.number(0...4) {
    case 0:
      issued = arrival - life - world.random.milliseconds(0...1_000)
      age = life + beyond
    case 1:
      age = world.random.milliseconds(0...life)
      issued = arrival - 24 * Self.hour - beyond - age
    case 2:
      age = world.random.milliseconds(0...life)
      issued = arrival - 26 * Self.hour - beyond
    case 3:
      age = 0
      issued = min(arrival, world.slowestClock) + 5_000 + beyond
    default:
      age = 6_000 + beyond
      issued = arrival - 1_000
    }
    return (makeTerms(issuedAt: issued, sentTo: sentTo, in: world), age)
  }

  /// One of the clients whose ads come from networks of which only their tokens are known here.
  static func client(_ partition: Int32, _ number: Int) -> String { "known-\(partition)-\(number)" }

  func makeTerms(issuedAt: Int64, sentTo: Int32, in world: World) -> ServedTerms {
    var partition = sentTo
    if world.random.chance(100) { partition = Int32(world.random.number(0...Int(world.partitionCount))) }
    let campaign = world.random.pick(world.catalogPlan.campaigns)
    let issued = Timestamp(milliseconds: issuedAt)
    var terms = Samples.terms
    terms.serveID = ServeID(timestamp: issued, randomHigh: world.random.next(), randomLow: world.random.next())
    terms.partition = partition
    terms.issuedAt = issued
    terms.expiresAt = issued.advanced(byMilliseconds: Self.tokenLife)
    let app = world.random.pick(world.catalogPlan.apps)
    (terms.app, terms.developer) = (app.id, app.developer)
    let client = Self.client(partition, world.random.number(1...3))
    terms.clientHash = fixture.clientHash(app.id, client, now: issuedAt)
    terms.isTest = world.random.chance(100)
    terms.campaign = campaign.id
    if let advertiser = world.catalogPlan.advertiser(of: campaign) {
      (terms.advertiser, terms.currency) = (advertiser.id, advertiser.currency)
    }
    if terms.currency != Samples.terms.currency { world.coverage.note(.otherCurrency) }
    terms.impressionPrice = campaign.impressionPrice
    terms.clickPrice = campaign.clickPrice
    terms.shareBasisPoints = app.shareBasisPoints
    terms.budgetDay = Int32(issuedAt / (24 * Self.hour))
    if world.random.chance(world.isFaulty ? 200 : 700) {
      terms.allotment = UInt64(clamping: partition) << 40 | UInt64(world.random.number(1...8))
    }
    if world.random.chance(30) { terms.budgetDay = 13 }
    if world.random.chance(20) { terms.ad = Samples.cursedAd }
    return terms
  }

  /// The first event of an ad that ad selection has served: it is seen, now or later.
  private func view(in world: World) -> DeviceEvent {
    let terms = fresh.remove(at: world.random.number(0...fresh.count - 1))
    let age = world.random.milliseconds(0...min(Self.tokenLife, max(0, world.log.now - terms.issuedAt.milliseconds)))
    served.append((terms, age))
    let hasPartition = terms.partition < world.log.partitionCount(Topic.impressions.name)
    return seen(terms, age: age, sentTo: hasPartition ? terms.partition : 0)
  }

  func seen(_ terms: ServedTerms, age: Int64, sentTo partition: Int32) -> DeviceEvent {
    let value = ImpressionEvent(
      kind: .viewed, subject: .serve(token: fixture.issuer.issue(terms)), age: .milliseconds(age), error: nil,
      identity: EventIdentity(idHash: 0, time: nil))
    return DeviceEvent(
      number: events.count, form: .sound, content: .impression(.viewed, nil), terms: terms, age: age,
      claimedTime: nil, message: message(value, on: .impressions, to: partition, claimed: nil, of: terms))
  }

  private func failureWithoutAd(_ partition: Int32, in world: World) -> DeviceEvent {
    let made = world.time.milliseconds - world.random.milliseconds(-20_000...100_000)
    let id = UUIDv7(timestamp: Timestamp(milliseconds: made), randomHigh: 1, randomLow: world.random.next())
    let key: DeviceEvent.Request.Key = world.random.pick([.live, .live, .live, .test, .unknown])
    let app = world.random.pick(world.catalogPlan.apps).id
    let value = ImpressionEvent(
      kind: .failed,
      subject: .request(
        ImpressionEvent.RequestSubject(
          requestID: id, appKey: key.text(of: app), app: app, placement: Samples.terms.placement,
          clientID: "client", sessionID: "session")),
      age: .unknown, error: .inventoryUnavailable, identity: EventIdentity(idHash: 0, time: nil))
    return DeviceEvent(
      number: events.count, form: .sound, content: .failure(id, .inventoryUnavailable, key), terms: nil, age: nil,
      claimedTime: nil, message: message(value, on: .impressions, to: partition, claimed: nil))
  }

  func garbage(_ topic: Topic, _ partition: Int32, in world: World) -> DeviceEvent {
    let nothing = EventIdentity(idHash: 0, time: nil)
    let token: [UInt8] = [1, 2, 3]
    var message: OutgoingMessage
    if topic == .requests {
      message = self.message(sample(in: world).value, on: topic, to: partition, claimed: nil)
    } else if topic == .clicks {
      let value = ClickEvent(
        kind: .click, token: token, age: .unknown, actionMilliseconds: 0, leftApplication: false, identity: nothing)
      message = self.message(value, on: topic, to: partition, claimed: nil)
    } else {
      let value = ImpressionEvent(
        kind: .viewed, subject: .serve(token: token), age: .unknown, error: nil, identity: nothing)
      message = self.message(value, on: topic, to: partition, claimed: nil)
    }
    // A request whose value is sound is answered, whatever its envelope lacks: that is no garbage.
    let reason: UInt8 = world.random.pick(topic == .requests ? [64, 65, 68] : [64, 65, 67, 68, 72, 73])
    switch reason {
    case 64: message.value = nil
    case 65: message.value = []
    case 67: message.headers.removeAll { $0.name == Array("content-type".utf8) }
    case 68: message.value = [0xFF, 0xFF, 0xFF]
    case 72: message.headers.removeAll { $0.name == Array("ce_id".utf8) }
    default:
      let name = Array("ce_type".utf8)
      for index in message.headers.indices where message.headers[index].name == name {
        message.headers[index].value = Array("org.handbill.nonsense.v9".utf8)
      }
    }
    return DeviceEvent(
      number: events.count, form: .garbage(reason: reason), content: .impression(.viewed, nil), terms: nil, age: nil,
      claimedTime: nil, message: message)
  }

  /// - Parameter terms: of the ad that it tells of: its key is then the client that got it.
  func message(
    _ value: some EventMessage, on topic: Topic, to partition: Int32, claimed: Int64?, of terms: ServedTerms? = nil
  ) -> OutgoingMessage {
    var headers = [
      RecordHeader("content-type", "application/protobuf"),
      RecordHeader("ce_specversion", "1.0"), RecordHeader("ce_source", "/device"),
      RecordHeader("ce_type", "\(value.eventType.name)"),
      RecordHeader("ce_id", Array(Self.id(of: events.count).utf8)),
    ]
    if let claimed { headers.append(RecordHeader("ce_time", Timestamp(milliseconds: claimed).rfc3339)) }
    return OutgoingMessage(
      topic: topic.name, partition: partition, key: terms.flatMap { fixture.client(of: $0.clientHash) },
      value: value.encoded(), headers: headers)
  }

  private static func id(of event: Int) -> String { "event-\(event)" }

  /// The hash by which an event is known.
  static func idHash(of event: Int) -> UInt64 {
    var headers = RecordHeaders()
    var name = "ce_id"
    var id = id(of: event)
    name.withUTF8 { name in id.withUTF8 { headers.add(name: .init(name), value: .init($0)) } }
    return headers.idHash ?? 0
  }

  /// Which event a record carries, by its `ce_id`.
  static func event(of message: OutgoingMessage) -> Int? {
    let name = Array("ce_id".utf8)
    guard let header = message.headers.first(where: { $0.name == name }) else { return nil }
    let text = header.text
    return text.hasPrefix("event-") ? Int(text.dropFirst(6)) : nil
  }
}
