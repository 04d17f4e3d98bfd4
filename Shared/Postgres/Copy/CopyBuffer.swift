/// Rows in COPY's binary format, to be built once per batch and used again without new memory.
///
/// Each row is `beginRow(columnCount:)` and then as many appended fields, in the order and of exactly the types of the
/// table's columns. The server refuses a wrong form (22P03, 22P04), so nothing is checked here. Not for two threads at
/// once.
@safe @usableFromInline
package final class CopyBuffer {
  /// The format's signature, no flags, no extension.
  private static let header: [UInt8] = [
    0x50, 0x47, 0x43, 0x4F, 0x50, 0x59, 0x0A, 0xFF, 0x0D, 0x0A, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
  ]

  /// A field of type `uuid` with its length.
  private static let uuidFieldBytes = 20

  private var storage: UnsafeMutableRawPointer
  private var capacity: Int
  /// How many bytes are filled, header included.
  package private(set) var byteCount: Int
  /// How many rows were begun since the buffer was last emptied.
  package private(set) var rowCount = 0

  /// Where the row begun last has its first field.
  private var firstField = 0

  /// A row whose first field is of type `uuid`, and where it lies; the end of the last one is that of the buffer.
  private struct IdentifiedRow {
    let id: PostgresUUID
    /// The row's second field, where that is of type `uuid` too: the last id of a row of many; else its own.
    var lastID: PostgresUUID
    let start: Int
    var end: Int
  }
  private var identified: [IdentifiedRow] = []
  /// Whether those rows lie in the order of their ids.
  private var isSorted = true

  /// An empty buffer with room for `capacity` bytes; it grows by doubling.
  package init(capacity: Int = 1 << 20) {
    self.capacity = max(capacity, 1_024)
    unsafe storage = .allocate(byteCount: self.capacity, alignment: 16)
    unsafe storage.copyMemory(from: Self.header, byteCount: Self.header.count)
    byteCount = Self.header.count
  }

  deinit { unsafe storage.deallocate() }

  package var isEmpty: Bool { rowCount == 0 }

  /// Begins the next row of `columnCount` fields.
  package func beginRow(columnCount: Int16) {
    unsafe put(columnCount, at: extend(by: 2))
    rowCount += 1
    firstField = byteCount
  }

  /// Appends the rows of another buffer.
  func append(contentsOf other: CopyBuffer) {
    guard other.rowCount > 0 else { return }
    let shift = byteCount - Self.header.count
    if let last = identified.last {
      identified[identified.count - 1].end = byteCount
      if let first = other.identified.first, first.id < last.id { isSorted = false }
    }
    isSorted = isSorted && other.isSorted
    let bytes = other.byteCount - Self.header.count
    unsafe extend(by: bytes).copyMemory(from: other.storage + Self.header.count, byteCount: bytes)
    identified += other.identified.map {
      IdentifiedRow(id: $0.id, lastID: $0.lastID, start: $0.start + shift, end: $0.end + shift)
    }
    rowCount += other.rowCount
  }

  /// Appends NULL, for a column of any type.
  @usableFromInline
  package func null() {
    unsafe put(Int32(-1), at: extend(by: 4))
  }

  /// Appends a field of type `boolean`.
  @usableFromInline
  package func append(bool value: Bool) {
    let field = unsafe extend(by: 5)
    unsafe put(Int32(1), at: field)
    unsafe put(UInt8(value ? 1 : 0), at: field + 4)
  }

  /// Appends a field of type `smallint`.
  @usableFromInline
  package func append(int16 value: Int16) {
    let field = unsafe extend(by: 6)
    unsafe put(Int32(2), at: field)
    unsafe put(value, at: field + 4)
  }

  /// Appends a field of type `integer`.
  @usableFromInline
  package func append(int32 value: Int32) {
    let field = unsafe extend(by: 8)
    unsafe put(Int32(4), at: field)
    unsafe put(value, at: field + 4)
  }

  /// Appends a field of type `bigint`.
  @usableFromInline
  package func append(int64 value: Int64) {
    let field = unsafe extend(by: 12)
    unsafe put(Int32(8), at: field)
    unsafe put(value, at: field + 4)
  }

  /// Appends a field of type `uuid`, from its big-endian halves.
  @usableFromInline
  package func append(uuidHigh high: UInt64, low: UInt64) {
    switch byteCount - firstField {
    case 0: noteFirst(PostgresUUID(high: high, low: low))
    case Self.uuidFieldBytes: noteSecond(PostgresUUID(high: high, low: low))
    default: break
    }
    let field = unsafe extend(by: Self.uuidFieldBytes)
    unsafe put(Int32(16), at: field)
    unsafe put(high, at: field + 4)
    unsafe put(low, at: field + 12)
  }

  private func noteFirst(_ id: PostgresUUID) {
    let start = firstField - 2
    if let last = identified.last {
      identified[identified.count - 1].end = start
      if id < last.id { isSorted = false }
    }
    identified.append(IdentifiedRow(id: id, lastID: id, start: start, end: start))
  }

  private func noteSecond(_ id: PostgresUUID) {
    guard let last = identified.last, last.start == firstField - 2 else { return }
    identified[identified.count - 1].lastID = id
  }

  /// Tells the first field of each row where that is of type `uuid`; up to the second field, where a row begins with two of
  /// them.
  func forEachFirstUUID(_ body: (ClosedRange<PostgresUUID>) -> Void) {
    for row in identified { body(row.id...max(row.id, row.lastID)) }
  }

  /// Brings the rows into the order of their first fields, if these are all of type `uuid`; equal ones stay as they lie.
  ///
  /// An index on that column then gets neighbours one after the other: fewer of its pages are touched, and they fill up.
  package func sortByFirstUUID() {
    guard !isSorted, identified.count == rowCount else { return }
    identified[identified.count - 1].end = byteCount
    identified.sort { ($0.id, $0.start) < ($1.id, $1.start) }
    let sorted = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    unsafe sorted.copyMemory(from: storage, byteCount: Self.header.count)
    var next = Self.header.count
    for index in identified.indices {
      let row = identified[index]
      unsafe (sorted + next).copyMemory(from: storage + row.start, byteCount: row.end - row.start)
      identified[index] = IdentifiedRow(
        id: row.id, lastID: row.lastID, start: next, end: next + row.end - row.start)
      next += row.end - row.start
    }
    unsafe storage.deallocate()
    unsafe storage = unsafe sorted
    isSorted = true
  }

  /// Appends a field of type `timestamptz`: microseconds since 1970-01-01 00:00 UTC.
  @usableFromInline
  package func append(timestampMicroseconds microseconds: Int64) {
    append(int64: PostgresTimestamp.wireForm(microseconds))
  }

  /// Appends a field of type `numeric`.
  @usableFromInline
  package func append(numeric value: Int128) {
    let digits = NumericDigits(value)
    let count = digits.byteCount
    let field = unsafe extend(by: 4 + count)
    unsafe put(Int32(truncatingIfNeeded: count), at: field)
    for index in 0..<count / 2 { unsafe put(digits.word(index), at: field + 4 + 2 * index) }
  }

  /// Appends a field of a text type.
  @usableFromInline
  package func append(text: String) {
    var text = text
    text.withUTF8 { unsafe append(raw: UnsafeRawBufferPointer($0)) }
  }

  /// Appends a field of type `bytea`.
  package func append(bytea bytes: some Collection<UInt8>) { append(bytes) }

  /// Appends a field of type `bytea` or text from memory of the caller.
  @usableFromInline
  package func append(raw bytes: UnsafeRawBufferPointer) {
    let field = unsafe extend(by: 4 + bytes.count)
    unsafe put(Int32(truncatingIfNeeded: bytes.count), at: field)
    if let start = bytes.baseAddress { unsafe (field + 4).copyMemory(from: start, byteCount: bytes.count) }
  }

  /// Appends fields that lie together as a row has them, each with its length; or what follows a field's length.
  func append(fields: UnsafeRawBufferPointer) {
    guard let start = fields.baseAddress else { return }
    unsafe extend(by: fields.count).copyMemory(from: start, byteCount: fields.count)
  }

  /// Appends the length of a field whose bytes are appended next.
  func append(length: Int) { unsafe put(Int32(truncatingIfNeeded: length), at: extend(by: 4)) }

  private func append(_ bytes: some Collection<UInt8>) {
    let done: Void? = bytes.withContiguousStorageIfAvailable { unsafe append(raw: UnsafeRawBufferPointer($0)) }
    if done == nil { unsafe [UInt8](bytes).withUnsafeBytes { unsafe append(raw: $0) } }
  }

  @inline(__always)
  private func put(_ value: some FixedWidthInteger, at pointer: UnsafeMutableRawPointer) {
    unsafe pointer.storeBytes(of: value.bigEndian, as: type(of: value.bigEndian))
  }

  /// Makes room for `count` bytes and says where; a whole field at once, since each look at this object is checked.
  @inline(__always)
  private func extend(by count: Int) -> UnsafeMutableRawPointer {
    let start = byteCount
    if start + count > capacity { grow(count) }
    byteCount = start + count
    return unsafe storage + start
  }

  private func grow(_ count: Int) {
    let larger = max(capacity * 2, byteCount + count)
    let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
    unsafe moved.copyMemory(from: storage, byteCount: byteCount)
    unsafe storage.deallocate()
    unsafe storage = unsafe moved
    capacity = larger
  }

  /// Calls `body` with the rows as they lie; nothing may be appended meanwhile.
  func withStoredRows(_ body: (StoredRows) -> Void) {
    unsafe body(StoredRows(bytes: UnsafeRawBufferPointer(start: storage, count: byteCount), start: Self.header.count))
  }

  /// Calls `body` with all bytes, from the header to the trailer (a row of -1 columns).
  func withBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    if byteCount + 2 > capacity { grow(2) }
    unsafe storage.storeBytes(of: 0xFFFF, toByteOffset: byteCount, as: UInt16.self)
    return try unsafe body(UnsafeRawBufferPointer(start: storage, count: byteCount + 2))
  }
}
