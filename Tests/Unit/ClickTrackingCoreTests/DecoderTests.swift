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

  private func records(
    _ message: OutgoingMessage, input: Int, with service: ClickTracking
  ) throws -> [InputRecord<ClickInput>] {
    var decoder = try service.makeDecoder()
    var batch = InputBatch<ClickInput>(inputCount: 2)
    decoder.begin()
    for header in message.headers {
      header.withUnsafeBytes { decoder.header(name: $0, value: $1) }
    }
    let record = UndecodedRecord(
      input: input, arrival: Samples.now, identity: RecordIdentity(offset: 0, timestamp: 0, contentHash: 0),
      raw: batch.raw.finish())
    (message.key ?? []).withUnsafeBytes { key in
      decoder.key(message.key == nil ? nil : key)
      if let value = message.value {
        value.withUnsafeBytes { decoder.decode(record, value: $0, into: &batch) }
      } else {
        decoder.decode(record, value: nil, into: &batch)
      }
    }
    #expect(batch.heads.map(\.endsRecord) == batch.records.indices.map { $0 == batch.records.count - 1 })
    return batch.records
  }

  private func decode(
    _ message: OutgoingMessage, input: Int, with service: ClickTracking
  ) throws -> (event: ClickInput, sequence: RecordSequence) {
    let records = try records(message, input: input, with: service)
    let record = try #require(records.count == 1 ? records[0] : nil)
    return (record.event, record.sequence)
  }

  @Test("I1: a click with a token of ours is read, and every altered token is forged")
  func click() throws {
    let service = ClickTracking(ring: try ring())
    var terms = try Samples.terms()
    terms.clientHash = try ClientHasher(ring: try ring()).hash(
      app: terms.app, clientID: "somebody", sessionID: "", now: terms.issuedAt)
    let token = try ServeTokenIssuer(ring: try ring()).issue(terms)
    func message(_ token: [UInt8], key: String? = "somebody") -> OutgoingMessage {
      MessageMaker(topic: "ads.clicks", type: .clickTapped, source: "/device").message(
        ClickEvent(
          kind: .click, token: token, age: .milliseconds(3_000), actionMilliseconds: 2_500, leftApplication: true,
          identity: EventIdentity(idHash: 0, time: nil)), id: "one", time: Samples.now, partition: 7,
        key: key.map { Array($0.utf8) })
    }
    // Another instance of the app has read the token, and does not know whose it is.
    for stranger in [nil, "", "another"] {
      guard case .rejected(let rejection) = try decode(message(token, key: stranger), input: 0, with: service).event
      else {
        Issue.record("somebody else tells of the ad")
        return
      }
      #expect(rejection.reason == .notItsClient)
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
      Sequenced.run(AcceptedRun(first: 9, events: [impression, impression])), id: "7/9-10", time: Samples.now,
      partition: 7, key: nil)
    let read = try records(record, input: 1, with: service)
    #expect(read.map(\.sequence) == [.number(9), .number(10)])
    for record in read {
      guard case .impression(impression) = record.event else {
        Issue.record("an impression is expected")
        return
      }
    }
    let watermark = Watermark(time: Samples.now, sequence: 9)
    let passed = MessageMaker(topic: "ads.impressions.accepted", type: .watermarkPassed, source: "/test").message(
      Sequenced<AcceptedImpression>.watermark(watermark), id: "w", time: Samples.now, partition: 7, key: nil)
    #expect(try decode(passed, input: 1, with: service).sequence == .watermark(watermark))
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
    let messages = ClickTracking.messages([5, 6, 8].map { (sequence: $0, content: click) })
    #expect(messages.map(\.firstSequence) == [5, 8] && messages.map(\.sequence) == [6, 8])
    let message = messages[0].message
    #expect(message.topic == "ads.clicks.accepted" && message.partition == 7 && message.key == nil)
    var headers = RecordHeaders()
    for header in message.headers {
      headers.add(header)
    }
    let read = (message.value ?? []).withUnsafeBytes { Sequenced<AcceptedClick>.decode(value: $0, headers: headers) }
    #expect(read == .success(.run(AcceptedRun(first: 5, events: [click, click]))))
  }
}
