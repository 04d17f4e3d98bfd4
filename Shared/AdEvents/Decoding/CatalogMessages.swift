internal import AdBasics

extension CatalogMessage: EventMessage {
  /// The key of the heartbeat's record.
  package static let heartbeatKey = "heartbeat"

  package static var schemaName: String { "handbill.v1.CatalogMessage" }
  package static var eventTypes: [EventType] { [.catalogChanged, .catalogDeleted, .catalogHeartbeat] }
  package static var isWrittenByClients: Bool { false }

  package var eventType: EventType {
    switch self {
    case .record: .catalogChanged
    case .deleted: .catalogDeleted
    case .heartbeat: .catalogHeartbeat
    }
  }

  /// The Kafka key: compaction keeps the last record of each.
  package var key: String {
    switch self {
    case .record(let record, _): record.key
    case .deleted(let key, _): key
    case .heartbeat: CatalogMessage.heartbeatKey
    }
  }

  package static func read(
    _ bytes: UnsafeRawBufferPointer, headers: RecordHeaders
  ) throws(Rejection) -> CatalogMessage {
    var message: CatalogMessage?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: message = try record(try reader.bytes())
      case 2: message = try deletion(try reader.bytes())
      case 3: message = try heartbeat(try reader.bytes())
      default: try reader.skip()
      }
    }
    return try FieldValue.required(message, "content")
  }

  private static func record(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> CatalogMessage {
    var version: Int64?
    var record: CatalogRecord?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: version = try reader.integer("version", in: 1...Int64.max)
      case 2: record = .advertiser(try Advertiser(reading: try reader.bytes()))
      case 3: record = .campaign(try Campaign(reading: try reader.bytes()))
      case 4: record = .ad(try Ad(reading: try reader.bytes()))
      case 5: record = .developer(try Developer(reading: try reader.bytes()))
      case 6: record = .app(try App(reading: try reader.bytes()))
      case 7: record = .appKey(try AppKey(reading: try reader.bytes()))
      case 8: record = .settings(try NetworkSettings(reading: try reader.bytes()))
      case 9: record = .standing(try AppStanding(reading: try reader.bytes()))
      default: try reader.skip()
      }
    }
    return .record(
      try FieldValue.required(record, "content"), version: try FieldValue.required(version, "version"))
  }

  private static func deletion(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> CatalogMessage {
    var key = ""
    var version: Int64?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: key = try reader.text("key", maximum: FieldLimits.nameBytesMaximum)
      case 2: version = try reader.integer("version", in: 1...Int64.max)
      default: try reader.skip()
      }
    }
    return .deleted(
      key: try FieldValue.required(key, "key"), version: try FieldValue.required(version, "version"))
  }

  private static func heartbeat(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> CatalogMessage {
    var records: Int64 = 0
    var versionSum: Int64 = 0
    var time = Timestamp(milliseconds: 0)
    var stop: PaidAdsStop?
    var change: Int64 = 0
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: records = try reader.integer("records", in: 0...Int64.max)
      case 2: versionSum = try reader.integer("version_sum", in: 0...Int64.max)
      case 3: time = try reader.timestamp("at_milliseconds")
      case 4: stop = paidAdsStop(try reader.unsigned())
      case 5: change = try reader.integer("change_number", in: 0...Int64.max)
      default: try reader.skip()
      }
    }
    return .heartbeat(records: records, versionSum: versionSum, at: time, stop: stop, change: change)
  }

  /// A number that this program does not know is a stop as well.
  private static func paidAdsStop(_ number: UInt64) -> PaidAdsStop? {
    number == 0 ? nil : UInt8(exactly: number).flatMap(PaidAdsStop.init(rawValue:)) ?? .unknown
  }

  package func write(to writer: inout WireWriter) {
    switch self {
    case .record(let record, let version):
      writer.message(1) { writer in
        writer.signed(1, version)
        writer.message(record.field) { record.write(to: &$0) }
      }
    case .deleted(let key, let version):
      writer.message(2) { writer in
        writer.text(1, key)
        writer.signed(2, version)
      }
    case .heartbeat(let records, let versionSum, let time, let stop, let change):
      writer.message(3) { writer in
        writer.signed(1, records)
        writer.signed(2, versionSum)
        writer.signed(3, time.milliseconds)
        writer.unsigned(4, UInt64(stop?.rawValue ?? 0))
        writer.signed(5, change)
      }
    }
  }
}

extension CatalogRecord {
  /// The number of the record's kind in the oneof.
  fileprivate var field: UInt32 {
    switch self {
    case .advertiser: 2
    case .campaign: 3
    case .ad: 4
    case .developer: 5
    case .app: 6
    case .appKey: 7
    case .settings: 8
    case .standing: 9
    }
  }

  fileprivate func write(to writer: inout WireWriter) {
    switch self {
    case .advertiser(let record): record.write(to: &writer)
    case .campaign(let record): record.write(to: &writer)
    case .ad(let record): record.write(to: &writer)
    case .developer(let record): record.write(to: &writer)
    case .app(let record): record.write(to: &writer)
    case .appKey(let record): record.write(to: &writer)
    case .settings(let record): record.write(to: &writer)
    case .standing(let record): record.write(to: &writer)
    }
  }
}
