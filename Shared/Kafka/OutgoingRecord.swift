internal import CLibrdkafka
internal import Records

/// What a producer keeps under its lock.
struct ProducerState {
  @safe struct Topic {
    /// Kept, so that no record needs a look-up by name inside librdkafka; destroyed before the client.
    let handle: OpaquePointer
    var partitionCount: Int32
  }

  /// How often a topic's partition count is asked again because of records for partitions that it does not have.
  static let refreshMilliseconds: Int64 = 1_000

  var topics: [String: Topic] = [:]
  /// When each topic's metadata was last asked for, on the monotonic clock.
  var asked: [String: Int64] = [:]
  /// Topics whose metadata could not be had, when that was, and why: for a while it is not asked for again, so that
  /// many records for a topic that is not there do not cost a call each.
  var missed: [String: (at: Int64, error: KafkaError)] = [:]
  /// In flight: sent, and not yet reported.
  var records = 0
  var bytes = 0
  /// Threads that are inside a metadata call.
  var metadataCalls = 0
  var failure: KafkaError?
  /// No more records.
  var isClosing = false
  /// The owner thread is to end the client.
  var isEnding = false
  var isEnded = false

  var takesRecords: Bool { failure == nil && !isClosing }
}

/// One record on its way into librdkafka, which copies all of it.
@safe struct OutgoingRecord {
  let partition: Int32
  let key: UnsafeRawBufferPointer?
  let value: UnsafeRawBufferPointer?
  let headers: [RecordHeader]
  let timestampMilliseconds: Int64?
  let reportID: UInt64

  private static let argumentsMaximum = 8

  /// What librdkafka takes for a record besides its bytes, and for a header, about.
  static let recordBytes = 256
  static let headerBytes = 64

  /// Bytes that it takes in flight, as ``takenBytes(_:)`` counts them of its report.
  var size: Int {
    unsafe OutgoingRecord.recordBytes + (key?.count ?? 0) + (value?.count ?? 0)
      + headers.reduce(0) { $0 + OutgoingRecord.headerBytes + $1.name.count + ($1.value?.count ?? 0) }
  }

  /// What the reported record took in flight.
  static func takenBytes(_ message: UnsafePointer<rd_kafka_message_t>) -> Int {
    var bytes = unsafe recordBytes + message.pointee.len + message.pointee.key_len
    var headers: OpaquePointer?
    guard unsafe rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR, let headers = unsafe headers
    else { return bytes }
    var name: UnsafePointer<CChar>?
    var value: UnsafeRawPointer?
    var size = 0
    var index = 0
    while unsafe rd_kafka_header_get_all(headers, index, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR,
      let name = unsafe name
    {
      unsafe bytes += headerBytes + KafkaRecordView.length(name) + size
      index += 1
    }
    return bytes
  }

  /// Queues the record; the partition must be known to exist. Nil is success.
  func produce(_ client: OpaquePointer, topic: OpaquePointer) -> KafkaError? {
    let list = unsafe headers.isEmpty ? nil : makeHeaders()
    let error = unsafe withUnsafeTemporaryAllocation(of: rd_kafka_vu_t.self, capacity: OutgoingRecord.argumentsMaximum)
    {
      arguments in
      var count = 0
      func add(_ type: rd_kafka_vtype_t, _ fill: (inout rd_kafka_vu_t) -> Void) {
        var argument = unsafe rd_kafka_vu_t()
        unsafe argument.vtype = type
        unsafe fill(&argument)
        unsafe arguments.initializeElement(at: count, to: argument)
        count += 1
      }
      unsafe add(RD_KAFKA_VTYPE_RKT) { unsafe $0.u.rkt = unsafe topic }
      unsafe add(RD_KAFKA_VTYPE_PARTITION) { unsafe $0.u.i32 = partition }
      unsafe add(RD_KAFKA_VTYPE_MSGFLAGS) { unsafe $0.u.i = RD_KAFKA_MSG_F_COPY }
      unsafe add(RD_KAFKA_VTYPE_OPAQUE) { unsafe $0.u.ptr = unsafe UnsafeMutableRawPointer(bitPattern: UInt(reportID)) }
      // An empty Swift buffer may have no address, which would make a tombstone of an empty value: lend it one.
      let somewhere = unsafe UnsafeRawPointer(client)
      if let value = unsafe value {
        unsafe add(RD_KAFKA_VTYPE_VALUE) { unsafe OutgoingRecord.set(&$0, value, somewhere) }
      }
      if let key = unsafe key {
        unsafe add(RD_KAFKA_VTYPE_KEY) { unsafe OutgoingRecord.set(&$0, key, somewhere) }
      }
      if let timestampMilliseconds = timestampMilliseconds {
        unsafe add(RD_KAFKA_VTYPE_TIMESTAMP) { unsafe $0.u.i64 = timestampMilliseconds }
      }
      if let list = unsafe list { unsafe add(RD_KAFKA_VTYPE_HEADERS) { unsafe $0.u.headers = unsafe list } }
      return unsafe KafkaError.consume(rd_kafka_produceva(client, arguments.baseAddress, count))
    }
    // The headers are librdkafka's only when it took the record.
    if error != nil, let list = unsafe list { unsafe rd_kafka_headers_destroy(list) }
    return error
  }

  private static func set(
    _ argument: inout rd_kafka_vu_t, _ bytes: UnsafeRawBufferPointer, _ somewhere: UnsafeRawPointer
  ) {
    unsafe argument.u.mem.ptr = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress ?? somewhere)
    unsafe argument.u.mem.size = bytes.count
  }

  private func makeHeaders() -> OpaquePointer? {
    guard let list = unsafe rd_kafka_headers_new(headers.count) else { return nil }
    for header in headers {
      unsafe header.name.withUnsafeBufferPointer { name in
        unsafe name.withMemoryRebound(to: CChar.self) { name in
          if let value = header.value {
            unsafe value.withUnsafeBytes { value in
              _ = unsafe rd_kafka_header_add(
                list, name.baseAddress, name.count, value.baseAddress ?? UnsafeRawPointer(list), value.count)
            }
          } else {
            _ = unsafe rd_kafka_header_add(list, name.baseAddress, name.count, nil, 0)
          }
        }
      }
    }
    return unsafe list
  }
}
