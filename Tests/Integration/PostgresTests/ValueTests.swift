import Postgres
import Testing

@Suite("Values")
struct ValueTests {
  /// Sends `values` as single parameters and as one array, and expects both back.
  private func roundTrip<Value: PostgresElement & Equatable>(_ values: [Value]) async throws {
    let connection = try await TestServer.connect()
    for value in values {
      let row = try #require(try connection.query("SELECT $1", [value]).first)
      #expect(try row.decode(0, Value.self) == value)
    }
    let none: Value? = nil
    let optionals: [Value?] = values.map { $0 } + [none]
    let row = try #require(try connection.query("SELECT $1, $2, $3, $4", [values, none, [Value](), optionals]).first)
    #expect(try row.decode(0, [Value].self) == values)
    #expect(try row.decode(1, Value?.self) == nil)
    #expect(try row.decode(2, [Value].self).isEmpty)
    #expect(try row.decode(3, [Value?].self) == optionals)
    #expect(throws: PostgresError.self) { try row.decode(1, Value.self) }
  }

  @Test("integers and booleans come back, extremes too")
  func integers() async throws {
    try await roundTrip([true, false])
    try await roundTrip([Int16.min, -1, 0, 1, .max])
    try await roundTrip([Int32.min, -1, 0, 1, .max])
    try await roundTrip([Int64.min, -1, 0, 1, .max])
    try await roundTrip([-0.5, 0, 1e300, Double.infinity])
  }

  @Test("128-bit numbers come back exactly, extremes and round ones too")
  func numerics() async throws {
    var values: [Int128] = [.min, .min + 1, -1, 0, .max, 9_999, 10_000, 10_001, 100_000_000]
    values += [99_999_999_999_999_999_999_999_999_999_999_999_999, 120_000_000_000_000_000_000_000_000_000_000_000_000]
    values += [Int128(UInt64.max), Int128(UInt64.max) + 1, -20_000_000_000_000_000]
    try await roundTrip(values)
    let connection = try await TestServer.connect()
    for value in values {
      let row = try #require(
        try connection.query("SELECT $1::numeric::text, $2::text::numeric", [value, "\(value)"]).first)
      #expect(try row.decode(0, String.self) == "\(value)")
      #expect(try row.decode(1, Int128.self) == value)
    }
  }

  @Test(
    "a numeric that is no integer of 128 bits is an error",
    arguments: ["0.5", "-1.25", "0.00001", "NaN", "Infinity", "170141183460469231731687303715884105728", "1e60"])
  func notIntegers(text: String) async throws {
    let connection = try await TestServer.connect()
    let row = try #require(try connection.query("SELECT $1::text::numeric", [text]).first)
    let error = #expect(throws: PostgresError.self) { try row.decode(0, Int128.self) }
    #expect(error?.kind == .undecodable)
  }

  @Test("whole numerics with decimal places are integers", arguments: ["12.000", "-10000.00", "0.0"])
  func wholeNumbers(text: String) async throws {
    let connection = try await TestServer.connect()
    let row = try #require(
      try connection.query("SELECT $1::text::numeric, trunc($1::text::numeric)::bigint", [text]).first)
    #expect(try row.decode(0, Int128.self) == Int128(try row.decode(1, Int64.self)))
  }

  @Test("text, bytes, JSON and UUIDs come back")
  func texts() async throws {
    try await roundTrip(["", "a", "ünïcödé 🦊", String(repeating: "x", count: 100_000)])
    try await roundTrip([[], [0], Array(0...255)] as [[UInt8]])
    try await roundTrip([PostgresJSON("{\"a\": [1, null]}"), PostgresJSON("0")])
    try await roundTrip([PostgresUUID(high: 0, low: 0), PostgresUUID(high: .max, low: 1)])
    let connection = try await TestServer.connect()
    let row = try #require(try connection.query("SELECT '01020304-0506-0708-090a-0b0c0d0e0f10'::uuid").first)
    #expect(try row.decode(0) == PostgresUUID(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10))
  }

  @Test("moments and days come back, and mean what SQL means")
  func moments() async throws {
    try await roundTrip([PostgresTimestamp(microseconds: 0), PostgresTimestamp(microseconds: -1_234_567)])
    try await roundTrip([PostgresDate(days: 0), PostgresDate(days: -719_528), PostgresDate(days: 40_000)])
    let connection = try await TestServer.connect()
    let row = try #require(
      try connection.query("SELECT '2010-07-01 00:00:00.000001+00'::timestamptz, '2010-07-01'::date").first)
    #expect(try row.decode(0) == PostgresTimestamp(microseconds: 1_277_942_400_000_001))
    #expect(try row.decode(1) == PostgresDate(days: 14_791))
    let error = #expect(throws: PostgresError.self) {
      try connection.query("SELECT $1", [PostgresTimestamp(microseconds: .min)])
    }
    #expect(error?.isDataRefused == true)
    let infinite = try #require(try connection.query("SELECT '-infinity'::timestamptz, 'infinity'::date").first)
    #expect(throws: PostgresError.self) { try infinite.decode(0, PostgresTimestamp.self) }
    #expect(throws: PostgresError.self) { try infinite.decode(1, PostgresDate.self) }
  }

  /// As a type of the domain is: held as a value of another.
  private enum Size: Int16, PostgresConvertible {
    case small = 1
    case large = 2
  }

  @Test("a type that is held as another comes back, and what is none of its values is an error")
  func converted() async throws {
    try await roundTrip([Size.small, .large])
    try await roundTrip([UInt64.min, 1, 1 << 63, .max])
    try await roundTrip([UInt16.min, .max])
    let connection = try await TestServer.connect()
    let row = try #require(try connection.query("SELECT 3::smallint, 1, -1, 65536").first)
    #expect(throws: PostgresError.self) { try row.decode(0, Size.self) }
    #expect(try row.decode(1, Size.self) == .small)
    #expect(try row.decode(2, UInt64.self) == .max)
    #expect(throws: PostgresError.self) { try row.decode(3, UInt16.self) }
  }

  @Test("a value appends itself to a COPY as one field, nil as NULL, and a list as an array")
  func copied() async throws {
    let connection = try await TestServer.connect()
    try connection.executeScript(
      "CREATE TABLE held (a smallint, b bigint, c integer, d smallint, e smallint[], f text[])")
    let rows = TableRows(TableColumns("held", "abcdef".map { String($0) }), capacity: 0)
    rows.begin()
    rows.buffer.append(Int16(2))
    rows.buffer.append(UInt64.max)
    rows.buffer.append(UInt16.max)
    rows.buffer.append(nil as Int16?)
    rows.buffer.append(list: [Size.small, .large])
    rows.buffer.append(list: [] as [String])
    #expect(try connection.copy(rows) == 1)
    let row = try #require(try connection.query("SELECT * FROM held").first)
    #expect(try row.decode(0) == Size.large)
    #expect(try row.decode(1) == UInt64.max)
    #expect(try row.decode(2) == UInt16.max)
    #expect(try row.decode(3) == nil as Size?)
    #expect(try row.decode(4) == [Size.small, .large])
    #expect(try row.decode(5) == [] as [String])
  }

  @Test("a NUL character in text is refused by the server, in a value and in an array")
  func nulCharacter() async throws {
    let connection = try await TestServer.connect()
    for value in ["a\0b", ["a\0b"]] as [any PostgresValue] {
      let error = #expect(throws: PostgresError.self) { try connection.query("SELECT $1", [value]) }
      #expect(error?.sqlState == "22021")
    }
    #expect(try connection.query("SELECT 1").count == 1)
  }

  @Test("a narrower type refuses what it cannot hold")
  func narrowing() async throws {
    let connection = try await TestServer.connect()
    let row = try #require(try connection.query("SELECT 70000, 'text'").first)
    #expect(try row.decode(0, Int64.self) == 70_000)
    #expect(throws: PostgresError.self) { try row.decode(0, Int16.self) }
    #expect(throws: PostgresError.self) { try row.decode(1, Int64.self) }
    #expect(throws: PostgresError.self) { try row.decode(2, Int64.self) }
  }
}
