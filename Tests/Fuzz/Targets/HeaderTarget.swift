import AdCore
import AdEvents
import Records

/// A record's headers, as a stranger writes them. An input is a list of headers, each one byte for the name (or a
/// length, where it is one that nobody knows), two for the value's length and the value; then the record's value.
enum HeaderTarget {
  static let target = FuzzTarget(
    "record-headers", words: names + ["1.0", "application/json", "2010-07-01T12:00:00Z", "+09:00"], seeds: { seeds },
    fault: fault)

  private static let names = [
    "ce_id", "ce_type", "ce_time", "ce_source", "content-type", "ce_specversion", "kafka_replyTopic",
    "kafka_replyPartition", "kafka_correlationId", "handbill_forwarded",
  ]
  /// After the last header.
  private static let end: UInt8 = 0xFF

  private static func fault(_ input: UnsafeRawBufferPointer) -> String? {
    var headers = RecordHeaders()
    var unhashed = RecordHeaders(hashesID: false)
    var rest = input
    while let choice = rest.first, choice != end {
      rest = rest.dropping(1)
      let name: [UInt8]
      if Int(choice) < names.count {
        name = Array(names[Int(choice)].utf8)
      } else {
        name = Array(rest.prefix(Int(choice) - names.count))
        rest = rest.dropping(name.count)
      }
      let length = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropping(2)
      let value = UnsafeRawBufferPointer(rebasing: rest.prefix(length))
      rest = rest.dropping(length)
      name.withUnsafeBytes { name in
        // A null value, which Kafka has as well.
        headers.add(name: name, value: length == 0xFFFF ? nil : value)
        unhashed.add(name: name, value: length == 0xFFFF ? nil : value)
      }
      if let fault = timeFault(value) { return fault }
    }
    return fault(headers, unhashed, value: rest.dropping(1))
  }

  private static func fault(
    _ headers: RecordHeaders, _ unhashed: RecordHeaders, value: UnsafeRawBufferPointer
  ) -> String? {
    if let fault = DecodedLimits.fault(in: headers.replyTopic) { return fault }
    guard headers.replyTopic.utf8.count <= FieldLimits.topicBytesMaximum,
      headers.correlationID.count <= FieldLimits.correlationIDBytesMaximum,
      headers.forwardedMark.count <= FieldLimits.headerBytesMaximum
    else { return "a header is kept beyond its limit" }
    var same = unhashed
    same.idHash = headers.idHash
    guard (unhashed.idHash == nil) == (headers.idHash == nil), same.problem == headers.problem else {
      return "without hashing the headers say something else"
    }
    let request = AdRequest.decode(value: value, headers: headers)
    if case .success(let request) = request,
      request.replyPartition < 0 || request.correlationID != headers.correlationID
    {
      return "a request took a reply that it must not"
    }
    let views = [
      (try? ImpressionEvent.decode(value: value, headers: headers).get()) != nil,
      (try? ImpressionEvent.decode(value: value, headers: unhashed).get()) != nil,
    ]
    guard views[0] == views[1] else { return "without hashing an event has another outcome" }
    _ = ClickEvent.decode(value: value, headers: headers)
    return nil
  }

  /// A time that is taken is a time that we write, and reads back.
  private static func timeFault(_ text: UnsafeRawBufferPointer) -> String? {
    guard let time = Timestamp(eventTime: text) else { return nil }
    guard (0...FieldLimits.timestampMaximum).contains(time.milliseconds) else { return "a time beyond the year 9999" }
    return time.rfc3339.withUnsafeBytes { Timestamp(eventTime: $0) } == time
      ? nil : "a time reads back as another"
  }

  private static var seeds: [[UInt8]] {
    var maker = SampleMaker(seed: 21)
    let values = [maker.request().encoded(), maker.impression().encoded(), maker.click().encoded()]
    let types: [EventType] = [.adRequested, .impressionViewed, .clickTapped]
    let moment = Timestamp(milliseconds: 1_277_985_600_000)
    return zip(values, types).map { value, type in
      let headers =
        CloudEventHeaders(type: type, source: "/fuzz").headers(id: "id-1", time: moment)
        + CloudEventHeaders.reply(topic: "ads.responses.app", partition: -1, correlationID: [1, 2, 3])
        + [RecordHeader("handbill_forwarded", [UInt8](repeating: 1, count: 34))]
      return headers.flatMap { header -> [UInt8] in
        let number = names.firstIndex { $0.utf8.elementsEqual(header.name) } ?? 0
        let value = header.value ?? []
        let length = UInt16(value.count)
        return [UInt8(number), UInt8(length >> 8), UInt8(length & 0xFF)] + value
      } + [end] + value
    }
  }
}
