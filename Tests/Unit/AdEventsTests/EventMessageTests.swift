import AdCore
import FuzzTargets
import Records
import Testing

@testable import AdEvents

/// Headers of a record that a proper producer wrote.
func properHeaders(_ type: EventType, contentType: String = "application/protobuf") -> RecordHeaders {
  var headers = RecordHeaders()
  let time = Timestamp(milliseconds: 1_277_985_600_000)
  let made =
    CloudEventHeaders(type: type, source: "/tests")
    .headers(id: "id-1", time: time, contentType: RecordHeader("content-type", contentType))
    + CloudEventHeaders.reply(topic: "ads.responses.app", partition: 3, correlationID: [1, 2, 3])
  for header in made { headers.add(header) }
  return headers
}

func decode<Message: EventMessage>(
  _ type: Message.Type, _ bytes: [UInt8], _ headers: RecordHeaders
) -> Result<Message, Rejection> {
  bytes.withUnsafeBytes { Message.decode(value: $0, headers: headers) }
}

/// One message type with its sample maker, so that tests can go over all of them.
struct AnyMessage: Sendable, CustomTestStringConvertible {
  let schemaName: String
  let isWrittenByClients: Bool
  let eventTypes: [EventType]
  let valueBytesMaximum: Int
  /// Encoded bytes of a random value.
  let sample: @Sendable (UInt64) -> (type: EventType, bytes: [UInt8])
  /// Decodes, and gives back the encoding of what came out, or the reason.
  let reencode: @Sendable ([UInt8]?, RecordHeaders) -> Result<[UInt8], Rejection>

  var testDescription: String { schemaName }

  init<Message: EventMessage>(_ make: @escaping @Sendable (inout SampleMaker) -> Message) {
    schemaName = Message.schemaName
    isWrittenByClients = Message.isWrittenByClients
    eventTypes = Message.eventTypes
    valueBytesMaximum = Message.valueBytesMaximum
    sample = { seed in
      var maker = SampleMaker(seed: seed)
      let message = make(&maker)
      return (message.eventType, message.encoded())
    }
    reencode = { bytes, headers in
      guard let bytes else { return Message.decode(value: nil, headers: headers).map { $0.encoded() } }
      return decode(Message.self, bytes, headers).map { $0.encoded() }
    }
  }

  static let all: [AnyMessage] = [
    AnyMessage { $0.request() }, AnyMessage { $0.response() }, AnyMessage { $0.impression() },
    AnyMessage { $0.click() }, AnyMessage { $0.acceptedImpression() }, AnyMessage { $0.acceptedClick() },
    AnyMessage { $0.usage() }, AnyMessage { $0.budget() }, AnyMessage { $0.catalog() },
    AnyMessage { $0.rejected() },
  ]
}

@Suite("Messages in their protobuf form")
struct EventMessageTests {
  /// Encodes and decodes 300 random values, and compares values, not bytes.
  private func checkRoundTrip<Message: EventMessage>(
    normalize: (inout Message) -> Void = { _ in }, make: (inout SampleMaker) -> Message
  ) {
    var maker = SampleMaker(seed: 7)
    for _ in 0..<300 {
      let message = make(&maker)
      switch decode(Message.self, message.encoded(), properHeaders(message.eventType)) {
      case .failure(let rejection): Issue.record("\(message) was rejected: \(rejection)")
      case .success(var decoded):
        normalize(&decoded)
        #expect(decoded == message)
      }
    }
  }

  @Test("every message comes back as the value that it was")
  func roundTrips() {
    checkRoundTrip { $0.request() }
    checkRoundTrip { $0.response() }
    let anonymous = EventIdentity(idHash: 0, time: nil)
    checkRoundTrip(normalize: { $0.identity = anonymous }, make: { $0.impression() })
    checkRoundTrip(normalize: { $0.identity = anonymous }, make: { $0.click() })
    checkRoundTrip { $0.acceptedImpression() }
    checkRoundTrip { $0.acceptedClick() }
    checkRoundTrip { $0.usage() }
    checkRoundTrip { $0.budget() }
    checkRoundTrip { $0.catalog() }
    checkRoundTrip { $0.rejected() }
  }

  @Test("what units of currencies are worth comes back, within its bounds")
  func currencyRates() throws {
    let (dollar, yen) = (try #require(Currency("USD")), try #require(Currency("JPY")))
    func outcome(_ rates: [Currency: Int64]) -> Result<CatalogMessage, Rejection> {
      let message = CatalogMessage.record(
        .settings(NetworkSettings(countries: [], currencyRates: rates)), version: 1)
      return decode(CatalogMessage.self, message.encoded(), properHeaders(message.eventType))
    }
    for rates in [[:], [yen: 6_700, dollar: 1_000_000], [yen: 1, dollar: 1_000_000_000_000]] as [[Currency: Int64]] {
      #expect(
        outcome(rates)
          == .success(.record(.settings(NetworkSettings(countries: [], currencyRates: rates)), version: 1)))
    }
    for rate in [-1, 0, 1_000_000_000_001] as [Int64] {
      #expect(throws: Rejection.self, "\(rate)") { try outcome([yen: rate]).get() }
    }
  }

  @Test("the closure form sees the token where it lies, and the same event")
  func tokenInPlace() {
    var maker = SampleMaker(seed: 3)
    for _ in 0..<100 {
      let click = maker.click()
      let bytes = click.encoded()
      bytes.withUnsafeBytes { buffer in
        let result = ClickEvent.withDecoded(value: buffer, headers: properHeaders(click.eventType)) { view in
          // A conversion has none.
          guard click.conversion == nil else { return Array(view.token) }
          #expect(view.token.baseAddress! >= buffer.baseAddress!)
          #expect(view.token.baseAddress! < buffer.baseAddress! + buffer.count)
          return Array(view.token)
        }
        #expect(result == .success(click.token))
      }
    }
  }

  @Test("fields of a later schema are stepped over", arguments: AnyMessage.all)
  func unknownFields(_ message: AnyMessage) throws {
    let (type, bytes) = message.sample(11)
    var writer = WireWriter(output: bytes)
    writer.unsigned(900, 77)
    writer.fixed64(901, 5)
    writer.text(902, "later")
    // A fixed 32-bit field and a group, which no writer of ours makes.
    writer.varint(903 << 3 | 5)
    writer.output += [1, 2, 3, 4]
    writer.varint(904 << 3 | 3)
    writer.unsigned(1, 5)
    writer.varint(904 << 3 | 4)
    #expect(try message.reencode(writer.output, properHeaders(type)).get() == bytes)
  }

  @Test("a decoded event has the hash of its ce_id and its ce_time")
  func identity() throws {
    var maker = SampleMaker(seed: 2)
    let click = maker.click()
    let identity = try decode(ClickEvent.self, click.encoded(), properHeaders(click.eventType)).get().identity
    #expect(identity.time == Timestamp(milliseconds: 1_277_985_600_000))
    // The first 8 bytes of SHA-256("id-1"), as sha256sum prints them.
    #expect(identity.idHash == 0xEB66_C623_572F_8A2A)
  }
}
