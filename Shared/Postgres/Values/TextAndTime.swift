extension String: PostgresElement {
  package static var postgresType: UInt32 { PostgresType.text }
  package static var postgresListType: UInt32 { PostgresType.textArray }

  /// A NUL character is sent as it is; the server refuses it (SQLSTATE 22021).
  package func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.append(contentsOf: utf8)
    return true
  }

  package static func decode(_ field: PostgresField) throws(PostgresError) -> String {
    let bytes = try field.required(
      types: PostgresType.text, PostgresType.varchar, PostgresType.char, PostgresType.name, PostgresType.json,
      PostgresType.unknown)
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The text of a JSON value, for columns of type `jsonb` (and `json` when read).
package struct PostgresJSON: PostgresElement, Hashable {
  package var text: String

  package init(_ text: String) { self.text = text }

  package static var postgresType: UInt32 { PostgresType.jsonb }
  package static var postgresListType: UInt32 { PostgresType.jsonbArray }

  package func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.append(1)  // The version of jsonb's binary form.
    bytes.append(contentsOf: text.utf8)
    return true
  }

  package static func decode(_ field: PostgresField) throws(PostgresError) -> PostgresJSON {
    let bytes = try field.required(types: PostgresType.json, PostgresType.jsonb)
    guard field.type == PostgresType.jsonb else { return PostgresJSON(String(decoding: bytes, as: UTF8.self)) }
    guard bytes.first == 1 else { throw .undecodable(column: field.column, "jsonb of an unknown version") }
    return PostgresJSON(String(decoding: bytes.dropFirst(), as: UTF8.self))
  }
}

/// A UUID as two halves, big-endian; in PostgreSQL's order.
package struct PostgresUUID: PostgresElement, Hashable, Comparable {
  /// Bytes 0 to 7.
  package var high: UInt64
  /// Bytes 8 to 15.
  package var low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  package static func < (left: PostgresUUID, right: PostgresUUID) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }

  package static var postgresType: UInt32 { PostgresType.uuid }
  package static var postgresListType: UInt32 { PostgresType.uuidArray }

  package func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.appendBigEndian(high)
    bytes.appendBigEndian(low)
    return true
  }

  package static func decode(_ field: PostgresField) throws(PostgresError) -> PostgresUUID {
    let bytes = try field.required(types: PostgresType.uuid, count: 16)
    return PostgresUUID(high: bytes.bigEndian(at: 0), low: bytes.bigEndian(at: 8))
  }
}

/// A `timestamptz`: microseconds since 1970-01-01 00:00 UTC. PostgreSQL keeps 4713 BC to 294276 AD and refuses others
/// (SQLSTATE 22008); its infinities cannot be read.
package struct PostgresTimestamp: PostgresElement, Hashable, Comparable {
  package var microseconds: Int64

  package init(microseconds: Int64) { self.microseconds = microseconds }

  package static var postgresType: UInt32 { PostgresType.timestamptz }
  package static var postgresListType: UInt32 { PostgresType.timestamptzArray }
  package static func < (left: PostgresTimestamp, right: PostgresTimestamp) -> Bool {
    left.microseconds < right.microseconds
  }

  /// From 1970 to 2000, where PostgreSQL begins to count.
  private static let epochMicroseconds: Int64 = 946_684_800_000_000
  /// A moment that the server refuses, for what it cannot express; its neighbour below means "-infinity".
  private static let outOfRange = Int64.min + 1

  /// What the server is sent for `microseconds`.
  static func wireForm(_ microseconds: Int64) -> Int64 {
    let (moment, overflow) = microseconds.subtractingReportingOverflow(epochMicroseconds)
    return overflow || moment == .min ? outOfRange : moment
  }

  package func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.appendBigEndian(Self.wireForm(microseconds))
    return true
  }

  package static func decode(_ field: PostgresField) throws(PostgresError) -> PostgresTimestamp {
    let moment: Int64 = try field.required(types: PostgresType.timestamptz, count: 8).bigEndian()
    let (microseconds, overflow) = moment.addingReportingOverflow(epochMicroseconds)
    guard !overflow, moment != .min else { throw .undecodable(column: field.column, "the moment is infinite") }
    return PostgresTimestamp(microseconds: microseconds)
  }
}

/// A `date`: days since 1970-01-01. PostgreSQL refuses days outside 4713 BC to 5874897 AD; its infinities cannot be
/// read.
package struct PostgresDate: PostgresElement, Hashable, Comparable {
  package var days: Int32

  package init(days: Int32) { self.days = days }

  package static var postgresType: UInt32 { PostgresType.date }
  package static var postgresListType: UInt32 { PostgresType.dateArray }
  package static func < (left: PostgresDate, right: PostgresDate) -> Bool { left.days < right.days }

  private static let epochDays: Int32 = 10_957
  private static let outOfRange = Int32.min + 1

  /// What the server is sent for `days`.
  static func wireForm(_ days: Int32) -> Int32 {
    let (day, overflow) = days.subtractingReportingOverflow(epochDays)
    return overflow || day == .min ? outOfRange : day
  }

  package func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.appendBigEndian(Self.wireForm(days))
    return true
  }

  package static func decode(_ field: PostgresField) throws(PostgresError) -> PostgresDate {
    let day: Int32 = try field.required(types: PostgresType.date, count: 4).bigEndian()
    let (days, overflow) = day.addingReportingOverflow(epochDays)
    guard !overflow, day != .min else { throw .undecodable(column: field.column, "the day is infinite") }
    return PostgresDate(days: days)
  }
}
