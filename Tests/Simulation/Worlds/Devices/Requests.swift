import AdCore
import AdEvents
import Pipeline

/// Apps that ask for ads.
extension Devices {
  func request(in world: World) -> DeviceEvent {
    let (request, value) = sample(in: world)
    let count = world.log.partitionCount(Topic.requests.name)
    let isAstray = world.random.chance(120)
    let partition =
      isAstray ? Int32(world.random.number(0...Int(count) - 1)) : KafkaPartition.of(key: request.client, count: count)
    var message = message(value, on: .requests, to: partition, claimed: nil)
    let topic = request.reply == .otherTopic ? "ads.responses.other" : Topic.responses(for: Samples.terms.app)
    message.headers.append(RecordHeader("kafka_replyTopic", Array(topic.utf8)))
    let reply = withUnsafeBytes(of: request.replyPartition.bigEndian) { Array($0) }
    message.headers.append(RecordHeader("kafka_replyPartition", reply))
    return DeviceEvent(
      number: events.count, form: .sound, content: .request(request), terms: nil, age: nil, claimedTime: nil,
      message: message)
  }

  func sample(in world: World) -> (request: DeviceEvent.Request, value: AdRequest) {
    let made = world.time.milliseconds - world.random.milliseconds(-2_000...2_000)
    let clientID = world.random.chance(800) ? "client-\(world.random.number(1...9))" : ""
    let sessionID = "session-\(world.random.number(1...9))"
    let app = Samples.terms.app
    let count = world.log.partitionCount(Topic.responses(for: app))
    let reply: DeviceEvent.Request.Reply =
      world.random.chance(30) ? world.random.pick([.otherTopic, .absurdPartition]) : .sound
    let request = DeviceEvent.Request(
      id: UUIDv7(
        timestamp: Timestamp(milliseconds: made), randomHigh: world.random.next(), randomLow: world.random.next()),
      client: clientID.isEmpty ? sessionID : clientID,
      clientHash: fixture.hasher.hash(
        app: app, clientID: clientID, sessionID: sessionID, now: Timestamp(milliseconds: made)),
      placement: world.random.chance(20) ? Samples.cursedPlacement : world.random.pick(Samples.placements),
      key: world.random.pick([.live, .live, .live, .live, .live, .live, .test, .unknown]),
      deadline: world.random.pick([800, 60_000, 60_000]), reply: reply,
      replyPartition: reply == .absurdPartition ? 9_999 : Int32(world.random.number(0...Int(count) - 1)))
    let key =
      switch request.key {
      case .live: CatalogPlan.liveKey
      case .test: CatalogPlan.testKey
      case .unknown: "no-key"
      }
    let value = AdRequest(
      requestID: request.id, appKey: key, app: app, placement: request.placement, clientID: clientID,
      sessionID: sessionID, country: Samples.terms.country, device: .phone, requiredSizes: [], currentSize: "",
      isInterstitial: false, deadlineMilliseconds: request.deadline, replyPartition: request.replyPartition,
      replyTopic: "", correlationID: [])
    return (request, value)
  }
}

extension DeviceEvent {
  /// Whether there is one partition where the event belongs.
  var hasPlace: Bool {
    if case .request = content { return form == .sound }
    return terms != nil
  }
}
