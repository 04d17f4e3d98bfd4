/// The parameters of one execution, side by side in one buffer.
struct EncodedParameters {
  /// PostgreSQL's limit: their number is 16 bits in the protocol.
  static let maximumCount = 65_535
  /// Of one execution; far below the server's own limit of 1 GiB for a message.
  static let maximumBytes = 256 << 20

  private(set) var types: [UInt32] = []
  private var bytes: [UInt8] = []
  private var offsets: [Int] = []
  /// -1 for NULL.
  private var lengths: [Int32] = []

  init(_ values: [any PostgresValue]) throws(PostgresError) {
    guard values.count <= Self.maximumCount else {
      throw PostgresError(.misuse, "\(values.count) parameters, at most \(Self.maximumCount) are possible")
    }
    types.reserveCapacity(values.count)
    offsets.reserveCapacity(values.count)
    lengths.reserveCapacity(values.count)
    for value in values {
      let start = bytes.count
      let isPresent = value.encode(into: &bytes)
      let length = bytes.count - start
      guard bytes.count <= Self.maximumBytes else {
        throw PostgresError(.misuse, "the parameters have more than \(Self.maximumBytes) bytes")
      }
      types.append(type(of: value).postgresType)
      offsets.append(start)
      lengths.append(isPresent ? Int32(truncatingIfNeeded: length) : -1)
    }
    // An empty value still needs an address that is not null.
    bytes.append(0)
  }

  /// For fields whose types the statement's own columns say.
  init(fieldCount: Int) {
    // An empty value still needs an address that is not null.
    bytes.append(0)
    types.reserveCapacity(fieldCount)
    offsets.reserveCapacity(fieldCount)
    lengths.reserveCapacity(fieldCount)
  }

  /// Appends a field in its type's binary form; nil is NULL.
  mutating func append(field: UnsafeRawBufferPointer?) {
    types.append(0)
    offsets.append(bytes.count)
    unsafe lengths.append(field.map { Int32(truncatingIfNeeded: $0.count) } ?? -1)
    if let field = unsafe field { unsafe bytes.append(contentsOf: field) }
  }

  var count: Int { types.count }

  /// Calls `body` with what libpq's send functions take: the addresses, lengths and formats (1: binary).
  func withPointers<Result>(
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Result
  ) -> Result {
    unsafe bytes.withUnsafeBytes { raw in
      let start = unsafe raw.bindMemory(to: CChar.self).baseAddress
      var addresses: [UnsafePointer<CChar>?] = unsafe []
      unsafe addresses.reserveCapacity(count)
      for index in 0..<count {
        unsafe addresses.append(lengths[index] < 0 ? nil : start.map { unsafe $0 + offsets[index] })
      }
      let formats = [Int32](repeating: 1, count: count)
      return unsafe body(addresses, lengths, formats)
    }
  }
}
