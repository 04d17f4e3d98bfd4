import AdCore
import AdEvents
import Pipeline
import Records
import Testing

@testable import ClickTrackingCore

@Suite("What click tracking reads and writes")
struct DecoderTests {
  private func ring() throws -> KeyRing {
    try KeyRing(keys: [
      KeyRing.Key(id: 1, secret: (0..<32).map { UInt8($0) }, signsFrom: nil, lastSignedAt: nil)
    ])
  }

  private func decode(
    _ message: OutgoingMessage, input: Int, with service: ClickTracking
  ) throws -> (event: ClickInput, mark: SequenceMark) {
    var decoder = try service.makeDecoder()
    decoder.begin()
    for header in message.headers {
      header.withUnsafeBytes { decoder.header(name: $0, value: $1) }
    }
    guard let value = message.value else { return decoder.decode(input: input, value: nil, arrival: Samples.now) }
    return value.withUnsafeBytes { decoder.decode(input: input, value: $0, arrival: Samples.now) }
  }

  @Test("I1: a click with a token of ours is read, and every altered token is forged")
  func click() throws {
    let service = ClickTracking(ring: try ring())
    let terms = try Samples.terms()
    let token = try ServeTokenSealer(ring: try ring()).seal(terms)
    func message(_ token: [UInt8]) -> OutgoingMessage {
      MessageMaker(topic: "ads.clicks", type: .clickTapped, source: "/device").message(
        ClickEvent(
          kind: .click, token: token, age: .milliseconds(3_000), actionMilliseconds: 2_500, leftApplication: true,
          identity: EventIdentity(idHash: 0, time: nil)), id: "one", time: Samples.now, partition: 7, key: nil)
    }
    guard case (.action(let event), .unnumbered) = try decode(message(token), input: 0, with: service) else {
      Issue.record("a click is expected")
      return
    }
    #expect(event.terms == terms && event.kind == .click && event.leftApplication)
    #expect(event.age == .milliseconds(3_000) && event.actionMilliseconds == 2_500)
    #expect(event.claimedTime == Samples.now)
    for index in token.indices {
      var altered = token
      altered[index] ^= 1
      guard case .rejected(let rejection) = try decode(message(altered), input: 0, with: service).event else {
        Issue.record("byte \(index) altered, and the token is accepted")
        continue
      }
      #expect([.tokenForged, .tokenKeyUnknown].contains(rejection.reason))
    }
  }

  @Test("Accepted impressions and watermarks carry their marks; garbage has none")
  func impressions() throws {
    let service = ClickTracking(ring: try ring())
    let impression = AcceptedImpression(
      terms: try Samples.terms(), eventTime: Samples.now, arrival: Samples.now.advanced(byMilliseconds: 5))
    let accepted = MessageMaker(topic: "ads.impressions.accepted", type: .impressionAccepted, source: "/test")
    var record = accepted.message(
      Sequenced.record(sequence: 9, impression), id: "7/9", time: Samples.now, partition: 7, key: nil)
    guard case (.impression(let read), .number(9)) = try decode(record, input: 1, with: service) else {
      Issue.record("an impression with its sequence is expected")
      return
    }
    #expect(read == impression)
    let watermark = Watermark(time: Samples.now, sequence: 9)
    let passed = MessageMaker(topic: "ads.impressions.accepted", type: .watermarkPassed, source: "/test").message(
      Sequenced<AcceptedImpression>.watermark(watermark), id: "w", time: Samples.now, partition: 7, key: nil)
    #expect(try decode(passed, input: 1, with: service).mark == .watermark(watermark))
    record.value = [1, 2, 3]
    guard case (.rejected(let rejection), .unnumbered) = try decode(record, input: 1, with: service) else {
      Issue.record("a rejection is expected")
      return
    }
    #expect(rejection.reason == .invalidInternal)
    record.value = nil
    guard case (.rejected, .unnumbered) = try decode(record, input: 0, with: service) else {
      Issue.record("a rejection is expected")
      return
    }
  }

  @Test("What is published says what was decided")
  func published() throws {
    let click = AcceptedClick(
      terms: try Samples.terms(), idHash: .max, eventTime: Samples.now, arrival: Samples.now, verdict: .limited)
    let message = ClickTracking.message(click, sequence: 5)
    #expect(message.topic == "ads.clicks.accepted" && message.partition == 7)
    #expect(message.key == click.terms.serveID.utf8)
    var headers = RecordHeaders()
    for header in message.headers {
      headers.add(header)
    }
    let read = (message.value ?? []).withUnsafeBytes { Sequenced<AcceptedClick>.decode(value: $0, headers: headers) }
    #expect(read == .success(.record(sequence: 5, click)))
  }
}
