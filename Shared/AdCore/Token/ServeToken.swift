internal import Crypto

/// The serve token's binary form: a head in clear, the terms encrypted with AES-256-GCM, and the tag that covers both.
///
/// Byte 0 is the version, 1 and 2 the key's number, 3 to 18 the serve id, which is the nonce as well: a serve has one
/// token for ever. Encrypted are fixed-width fields, big-endian, then length-prefixed names, as in
/// ``ServeToken/write(_:keyID:)``. Whoever holds a token can use it, and reads no price, share or party in it.
package enum ServeToken {
  /// The longest token: six names of 40 bytes leave room for fields to come.
  package static let bytesMaximum = 512
  /// The layout's number.
  package static let version: UInt8 = 2
  /// The length of the tag at the end.
  package static let tagBytes = AES256GCM.tagBytes
  /// What stands in clear.
  package static let headBytes = 19
  /// Where in the head the serve id stands.
  package static let serveIDRange = 3..<headBytes

  /// Everything before the names.
  static let fixedBytes = 85
  /// The shortest token: six names of one byte.
  static let bytesMinimum = fixedBytes + 6 * 2 + tagBytes
  private static let testFlag: UInt8 = 1

  /// The token, open and without its tag.
  static func write(_ terms: ServedTerms, keyID: UInt16) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(bytesMaximum)
    output.append(version)
    append(keyID, to: &output)
    append(terms.serveID.high, to: &output)
    append(terms.serveID.low, to: &output)
    append(terms.partition, to: &output)
    append(terms.issuedAt.milliseconds, to: &output)
    append(terms.expiresAt.milliseconds, to: &output)
    append(terms.impressionPrice.value, to: &output)
    append(terms.clickPrice.value, to: &output)
    append(terms.allotment, to: &output)
    append(terms.budgetDay, to: &output)
    append(terms.clientHash, to: &output)
    append(terms.shareBasisPoints, to: &output)
    append(terms.country.code, to: &output)
    output.append(terms.device.rawValue)
    output.append(terms.size.rawValue)
    output.append(terms.isTest ? testFlag : 0)
    terms.currency.withBytes { output.append(contentsOf: $0) }
    append(terms.app.slug, to: &output)
    append(terms.developer.slug, to: &output)
    append(terms.advertiser.slug, to: &output)
    append(terms.campaign.slug, to: &output)
    append(terms.ad.slug, to: &output)
    append(terms.placement.slug, to: &output)
    return output
  }

  /// The terms in `bytes`, an opened token without its tag; nil where they are not what ``write(_:keyID:)`` makes.
  static func read(_ bytes: UnsafeRawBufferPointer) -> ServedTerms? {
    guard bytes.count >= fixedBytes else { return nil }
    let flags: UInt8 = bytes[81]
    guard flags & ~testFlag == 0, let serveID = ServeID(high: load(bytes, 3), low: load(bytes, 11)),
      let country = Country(code: load(bytes, 77)), let device = Device(rawValue: bytes[79]),
      let size = AdSize(rawValue: bytes[80]),
      let currency = Currency(bytes: UnsafeRawBufferPointer(rebasing: bytes[82..<85]))
    else { return nil }
    var names = NameReader(bytes: bytes, position: fixedBytes)
    guard let app = names.next(), let developer = names.next(), let advertiser = names.next(),
      let campaign = names.next(), let ad = names.next(), let placement = names.next(), names.position == bytes.count
    else { return nil }
    return ServedTerms(
      serveID: serveID, partition: load(bytes, 19), issuedAt: Timestamp(milliseconds: load(bytes, 23)),
      expiresAt: Timestamp(milliseconds: load(bytes, 31)), app: AppID(app), developer: DeveloperID(developer),
      advertiser: AdvertiserID(advertiser), campaign: CampaignID(campaign), ad: AdID(ad),
      placement: PlacementID(placement), country: country, device: device, size: size,
      impressionPrice: Nanos(load(bytes, 39)), clickPrice: Nanos(load(bytes, 47)), currency: currency,
      shareBasisPoints: load(bytes, 75), allotment: load(bytes, 55), budgetDay: load(bytes, 63),
      clientHash: load(bytes, 67), isTest: flags & testFlag != 0)
  }

  /// The serve id that stands in a token, whoever made it: nothing is checked but the layout's number and the least
  /// length. For people who ask for what they hold; nothing may be decided by it.
  public static func serveID(of token: [UInt8]) -> ServeID? {
    guard token.count >= bytesMinimum, token.count <= bytesMaximum, token[0] == version else { return nil }
    return token.withUnsafeBytes { ServeID(high: load($0, 3), low: load($0, 11)) }
  }

  /// The big-endian integer at `offset`, which must lie within `bytes`.
  static func load<Value: FixedWidthInteger & BitwiseCopyable>(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Value
  {
    Value(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
  }

  static func append(_ value: some FixedWidthInteger, to output: inout [UInt8]) {
    withUnsafeBytes(of: value.bigEndian) { output.append(contentsOf: $0) }
  }

  private static func append(_ slug: Slug, to output: inout [UInt8]) {
    slug.withBytes { text in
      output.append(UInt8(truncatingIfNeeded: text.count))
      output.append(contentsOf: text)
    }
  }

  /// Walks over names that each begin with their length.
  private struct NameReader {
    let bytes: UnsafeRawBufferPointer
    var position: Int

    mutating func next() -> Slug? {
      guard position < bytes.count else { return nil }
      let start = position + 1
      let end = start + Int(bytes[position])
      guard end <= bytes.count else { return nil }
      position = end
      return Slug(bytes: UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
    }
  }
}
