public import AdCore
public import Postgres

// How the tables hold what the core speaks of: so a row gives an `AppID`, and a COPY takes one. The imports are `public`
// because only such can be inlined into a service, where rows are written.

extension Timestamp: PostgresConvertible {
  package init(_ time: PostgresTimestamp) { self.init(milliseconds: time.microseconds / 1_000) }
  package init?(postgres: PostgresTimestamp) { self.init(postgres) }
  package var postgres: PostgresTimestamp { PostgresTimestamp(microseconds: milliseconds &* 1_000) }
}

extension Timestamp: CopyValue {
  @inlinable
  package func append(to buffer: CopyBuffer) { buffer.append(timestampMicroseconds: milliseconds &* 1_000) }
}

extension UUIDv7: PostgresConvertible {
  package init?(postgres: PostgresUUID) { self.init(high: postgres.high, low: postgres.low) }
  package var postgres: PostgresUUID { PostgresUUID(high: high, low: low) }
}

extension UUIDv7: CopyValue {
  @inlinable
  package func append(to buffer: CopyBuffer) { buffer.append(uuidHigh: high, low: low) }
}

extension Nanos: PostgresConvertible {
  package init?(postgres: Int64) { self.init(postgres) }
  package var postgres: Int64 { value }
}

extension Nanos: CopyValue {
  @inlinable
  package func append(to buffer: CopyBuffer) { buffer.append(int64: value) }
}

extension PostgresConvertible where Self: InlineText {
  package init?(postgres: String) { self.init(postgres) }
  package var postgres: String { unsafe withBytes { unsafe String(decoding: $0, as: UTF8.self) } }

  package func encode(into bytes: inout [UInt8]) -> Bool {
    unsafe withBytes { unsafe bytes.append(contentsOf: $0) }
    return true
  }
}

extension CopyValue where Self: InlineText {
  @inlinable
  package func append(to buffer: CopyBuffer) { unsafe withBytes { unsafe buffer.append(raw: $0) } }
}

extension Identifier: PostgresConvertible, CopyValue {}
extension Country: PostgresConvertible, CopyValue {}
extension Currency: PostgresConvertible, CopyValue {}

extension ClickRateBounds: PostgresConvertible {
  package init?(postgres: String) { self.init(text: postgres) }
  package var postgres: String { text }
}

extension PostgresConvertible where Self: Vocabulary {
  package init?(postgres: Int16) {
    guard let number = RawValue(exactly: postgres) else { return nil }
    self.init(rawValue: number)
  }

  package var postgres: Int16 { number }
}

/// A number with public meaning.
extension CopyValue where Self: RawRepresentable, RawValue == UInt8 {
  @inlinable
  package func append(to buffer: CopyBuffer) { buffer.append(int16: Int16(rawValue)) }
}

extension CopyValue where Self: RawRepresentable, RawValue == Int16 {
  @inlinable
  package func append(to buffer: CopyBuffer) { buffer.append(int16: rawValue) }
}

extension AdAction.Kind: PostgresConvertible, CopyValue {}
extension AdError: PostgresConvertible, CopyValue {}
extension AdSize: PostgresConvertible, CopyValue {}
extension AllotmentState: PostgresConvertible {}
extension ChargeFate: PostgresConvertible, CopyValue {}
extension ClickVerdict: PostgresConvertible, CopyValue {}
extension ConversionKind: PostgresConvertible, CopyValue {}
extension DecisionReason: PostgresConvertible, CopyValue {}
extension Device: PostgresConvertible, CopyValue {}
extension HoldReason: PostgresConvertible, CopyValue {}
extension Outcome: PostgresConvertible, CopyValue {}
extension PaidAdsState: PostgresConvertible, CopyValue {}
extension RecordedKind: PostgresConvertible, CopyValue {}
extension TapKind: PostgresConvertible, CopyValue {}

extension ChargeKind: PostgresConvertible, CopyValue {
  package init?(postgres: Int16) { self.init(rawValue: postgres) }
  package var postgres: Int16 { rawValue }
}
