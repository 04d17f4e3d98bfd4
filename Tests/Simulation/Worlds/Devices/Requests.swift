import AdCore
import AdEvents
import JSON
import Pipeline
import Records
import TestValues

/// Apps that ask for ads.
extension Devices {
  func request(in world: World) -> DeviceEvent {
    var (request, value) = sample(in: world)
    let count = world.log.partitionCount(Topic.requests.name)
    let isAstray = world.random.chance(120)
    let partition =
      isAstray
      ? Int32(world.random.number(0...Int(count) - 1))
      : KafkaPartition.of(key: value.clientID.isEmpty ? value.sessionID : value.clientID, count: count)
    var message = message(value, on: .requests, to: partition, claimed: nil)
    let topic = request.reply == .otherTopic ? "ads.responses.other" : Topic.responses(for: request.app)
    message.headers.append(RecordHeader("kafka_replyTopic", topic))
    let reply = withUnsafeBytes(of: request.replyPartition.bigEndian) { Array($0) }
    message.headers.append(RecordHeader("kafka_replyPartition", reply))
    if world.random.chance(100) {
      spoil(&message, of: &request, value, in: world)
    } else if world.random.chance(150), case .success(let json) = value.json().map(\.compactText) {
      world.coverage.note(.requestInJSON)
      message.headers.removeAll { $0.name == Self.jsonType.name }
      message.headers.append(Self.jsonType)
      message.value = Array(json.utf8)
      askedInJSON.insert(request.id)
    }
    return DeviceEvent(
      number: events.count, form: .sound, content: .request(request), terms: nil, age: nil, claimedTime: nil,
      message: message)
  }

  /// A mistake of the app's developer: the record is rejected, and the request is answered and counted all the same. What
  /// is appended prevails over what stood there.
  private func spoil(
    _ message: inout OutgoingMessage, of request: inout DeviceEvent.Request, _ value: AdRequest, in world: World
  ) {
    var writer = WireWriter(output: message.value ?? [])
    switch world.random.number(0...7) {
    case 0:
      writer.text(4, "end of game")
      request.mistake = 70
    case 1:
      writer.presentText(7, "")
      request.mistake = 69
    case 2:
      writer.unsigned(12, 60_001)
      request.mistake = 70
    case 3:
      writer.presentText(6, "")
      request.mistake = 69
      if value.clientID.isEmpty { request.client = nil }
    case 4:
      writer.text(5, String(repeating: "c", count: 129))
      request.mistake = 70
      request.client = nil
    case 5:
      for _ in 0..<33 { writer.presentText(13, "s") }
      request.mistake = 70
    case 6:
      message.headers.removeAll { $0.name == Array("ce_source".utf8) }
      request.mistake = 72
    default:
      message.headers.removeAll { $0.name == Array("content-type".utf8) }
      request.mistake = 67
    }
    message.value = writer.output
  }

  func sample(in world: World) -> (request: DeviceEvent.Request, value: AdRequest) {
    let made = world.time.milliseconds - world.random.milliseconds(-2_000...2_000)
    let clientID = world.random.chance(800) ? "client-\(world.random.number(1...9))" : ""
    let sessionID = "session-\(world.random.number(1...9))"
    let app = world.random.pick(world.catalogPlan.apps).id
    if app != Samples.terms.app { world.coverage.note(.otherApp) }
    let count = world.log.partitionCount(Topic.responses(for: app))
    let reply: DeviceEvent.Request.Reply =
      world.random.chance(30) ? world.random.pick([.otherTopic, .absurdPartition]) : .sound
    let request = DeviceEvent.Request(
      id: UUIDv7(
        timestamp: Timestamp(milliseconds: made), randomHigh: world.random.next(), randomLow: world.random.next()),
      client: clientID.isEmpty ? sessionID : clientID,
      clientHashes: [Fixture.rotation - 1, Fixture.rotation].map {
        fixture.clientHash(app, clientID, sessionID: sessionID, now: $0)
      }, app: app,
      placement: world.random.chance(20) ? Samples.cursedPlacement : world.random.pick(Samples.placements),
      key: world.random.pick([.live, .live, .live, .live, .live, .live, .test, .unknown]),
      deadline: world.random.pick([800, 60_000, 60_000]), reply: reply,
      replyPartition: reply == .absurdPartition ? 9_999 : Int32(world.random.number(0...Int(count) - 1)))
    let value = AdRequest.sample {
      ($0.requestID, $0.appKey, $0.app, $0.placement) = (request.id, request.key.text(of: app), app, request.placement)
      ($0.clientID, $0.sessionID, $0.country) = (clientID, sessionID, Samples.terms.country)
      // No chance of its own: the id has enough.
      $0.segments = request.id.low % 2 == 0 ? ["hikers"] : []
      ($0.deadlineMilliseconds, $0.replyPartition) = (request.deadline, request.replyPartition)
    }
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
