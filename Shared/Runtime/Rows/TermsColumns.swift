package import AdCore
package import Postgres

/// The frozen terms of a served ad as columns: the same names, order and types in every table that holds them.
/// `issued_at` is no column: it is the time in the serve id.
package enum TermsColumns {
  package static let names = [
    "serve_id", "partition", "expires_at", "app", "developer", "advertiser", "campaign", "ad", "placement", "country",
    "device", "size", "impression_price", "click_price", "currency", "share_basis_points", "allotment", "budget_day",
    "client_hash", "is_test",
  ]

  /// The names for a SELECT list.
  package static let list = names.joined(separator: ", ")

  /// Appends the values in the order of ``names``.
  package static func append(_ terms: ServedTerms, to buffer: CopyBuffer) {
    buffer.append(uuidHigh: terms.serveID.high, low: terms.serveID.low)
    buffer.append(int32: terms.partition)
    buffer.append(timestampMicroseconds: terms.expiresAt.milliseconds &* 1_000)
    buffer.append(text: terms.app)
    buffer.append(text: terms.developer)
    buffer.append(text: terms.advertiser)
    buffer.append(text: terms.campaign)
    buffer.append(text: terms.ad)
    buffer.append(text: terms.placement)
    buffer.append(text: terms.country)
    buffer.append(int16: Int16(terms.device.rawValue))
    buffer.append(int16: Int16(terms.size.rawValue))
    buffer.append(int64: terms.impressionPrice.value)
    buffer.append(int64: terms.clickPrice.value)
    buffer.append(text: terms.currency)
    buffer.append(int32: Int32(terms.shareBasisPoints))
    buffer.append(int64: Int64(bitPattern: terms.allotment))
    buffer.append(int32: terms.budgetDay)
    buffer.append(int64: Int64(bitPattern: terms.clientHash))
    buffer.append(bool: terms.isTest)
  }

  /// Reads the terms from a row that has the columns of ``names`` from `first` on.
  ///
  /// - Throws: `PostgresError` when a value is none that we wrote.
  package static func decode(_ row: PostgresRow, from first: Int) throws(PostgresError) -> ServedTerms {
    let id: PostgresUUID = try row.decode(first)
    let expiresAt: PostgresTimestamp = try row.decode(first + 2)
    let device: Int16 = try row.decode(first + 10)
    let size: Int16 = try row.decode(first + 11)
    let share: Int32 = try row.decode(first + 15)
    let serveID = try known(ServeID(high: id.high, low: id.low), first)
    return ServedTerms(
      serveID: serveID, partition: try row.decode(first + 1), issuedAt: serveID.timestamp,
      expiresAt: Timestamp(expiresAt), app: try known(AppID(row.decode(first + 3)), first + 3),
      developer: try known(DeveloperID(row.decode(first + 4)), first + 4),
      advertiser: try known(AdvertiserID(row.decode(first + 5)), first + 5),
      campaign: try known(CampaignID(row.decode(first + 6)), first + 6),
      ad: try known(AdID(row.decode(first + 7)), first + 7),
      placement: try known(PlacementID(row.decode(first + 8)), first + 8),
      country: try known(Country(row.decode(first + 9)), first + 9),
      device: try known(Device(rawValue: UInt8(clamping: device)), first + 10),
      size: try known(AdSize(rawValue: UInt8(clamping: size)), first + 11),
      impressionPrice: Nanos(try row.decode(first + 12)), clickPrice: Nanos(try row.decode(first + 13)),
      currency: try known(Currency(row.decode(first + 14)), first + 14),
      shareBasisPoints: try known(UInt16(exactly: share), first + 15),
      allotment: UInt64(bitPattern: try row.decode(first + 16)), budgetDay: try row.decode(first + 17),
      clientHash: UInt64(bitPattern: try row.decode(first + 18)), isTest: try row.decode(first + 19))
  }

  /// The value, or an error that names the column.
  package static func known<Value>(_ value: Value?, _ column: Int) throws(PostgresError) -> Value {
    guard let value else { throw .undecodable(column: column, "the value is none that this program writes") }
    return value
  }
}

extension CopyBuffer {
  /// Appends a field of a text type.
  package func append(text: some InlineText) { unsafe text.withBytes { unsafe append(raw: $0) } }
}
