package import Crypto

/// What a store link carries of the ad that led there: enough to find the ad's click again, and whose to tell it is what came
/// of it; nothing that anybody but click tracking can read (M8, A8). It is no token: no view and no tap can be told with it.
///
/// Byte 0 is the version, 1 and 2 the key's number, 3 to 18 the nonce; encrypted are serve id, partition and a hash of the
/// advertised app's id; the tag is last.
/// The nonce is a MAC of what is encrypted, so that a serve has one reference for ever, and another serve never the same nonce.
/// As text it is base64 for URLs, without padding.
package struct ClickReference: Hashable, Sendable {
  package let serveID: ServeID
  package let partition: Int32
  private let appHash: UInt64

  /// - Parameter app: the advertised one.
  package init(serveID: ServeID, partition: Int32, app: AppID) {
    self.serveID = serveID
    self.partition = partition
    appHash = Self.hash(app)
  }

  /// Whether what came of the click is this app's to tell.
  package func isFor(_ app: AppID) -> Bool { appHash == Self.hash(app) }

  private static func hash(_ app: AppID) -> UInt64 {
    SHA256.hash(app.text.utf8).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// How long its text is.
  package static let textBytes = (byteCount * 4 + 2) / 3

  fileprivate static let version: UInt8 = 1
  fileprivate static let headBytes = 3 + AES256GCM.nonceBytes
  fileprivate static let encryptedBytes = 28
  fileprivate static let byteCount = headBytes + encryptedBytes + AES256GCM.tagBytes

  fileprivate var bytes: [UInt8] {
    Self.bigEndian(serveID.high) + Self.bigEndian(serveID.low)
      + Self.bigEndian(UInt32(bitPattern: partition)) + Self.bigEndian(appHash)
  }

  private static func bigEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> Number(Number.bitWidth - 8 - $0 * 8)) }
  }

  fileprivate init?(bytes: [UInt8]) {
    func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    guard bytes.count == Self.encryptedBytes, let serveID = ServeID(high: number(0..<8), low: number(8..<16)) else {
      return nil
    }
    self.serveID = serveID
    partition = Int32(bitPattern: UInt32(number(16..<20)))
    appHash = number(20..<28)
  }
}

/// The two keys that references are made with.
private struct ReferenceKey {
  let cipher: AES256GCM
  let nonces: HMACSHA256

  init(_ key: [UInt8]) throws(CryptoError) {
    cipher = try AES256GCM(key: key)
    nonces = try HMACSHA256(key: HMACSHA256(key: key).authenticate("nonce".utf8))
  }
}

/// Makes references and reads them. Any key of the ring opens, however long ago it encrypted: a store link lives for weeks.
/// For one thread at a time.
package final class ClickReferences {
  private let keys: RingKeys<ReferenceKey>

  /// - Throws: where libcrypto has no AES-256-GCM: fatal.
  package init(ring: KeyRing) throws(CryptoError) {
    keys = try RingKeys(ring: ring, purpose: .clickReference) { (key) throws(CryptoError) in try ReferenceKey(key) }
  }

  /// The reference's text, under the key that encrypts at `now`.
  package func text(of reference: ClickReference, now: Timestamp) -> String {
    let (id, key) = keys.signing(at: now)
    let encrypted = reference.bytes
    var bytes = [ClickReference.version, UInt8(id >> 8), UInt8(truncatingIfNeeded: id)]
    bytes += key.nonces.authenticate(encrypted).prefix(AES256GCM.nonceBytes)
    bytes += encrypted + [UInt8](repeating: 0, count: AES256GCM.tagBytes)
    bytes.withUnsafeMutableBytes { buffer in
      let clear = UnsafeRawBufferPointer(rebasing: buffer[..<ClickReference.headBytes])
      let end = buffer.count - AES256GCM.tagBytes
      key.cipher.encrypt(
        UnsafeMutableRawBufferPointer(rebasing: buffer[ClickReference.headBytes..<end]), clear: clear,
        nonce: UnsafeRawBufferPointer(rebasing: clear[3...]),
        tag: UnsafeMutableRawBufferPointer(rebasing: buffer[end...]))
    }
    return URLBase64.encode(bytes)
  }

  /// What a text says; nil for one that the ring's keys did not make.
  package func open(_ text: String) -> ClickReference? {
    guard text.utf8.count == ClickReference.textBytes, var bytes = URLBase64.decode(text),
      bytes.count == ClickReference.byteCount, bytes[0] == ClickReference.version,
      let key = keys.key(id: UInt16(bytes[1]) << 8 | UInt16(bytes[2]))
    else { return nil }
    let end = bytes.count - AES256GCM.tagBytes
    let isOpened = bytes.withUnsafeMutableBytes { buffer in
      let clear = UnsafeRawBufferPointer(rebasing: buffer[..<ClickReference.headBytes])
      return key.cipher.decrypt(
        UnsafeMutableRawBufferPointer(rebasing: buffer[ClickReference.headBytes..<end]), clear: clear,
        nonce: UnsafeRawBufferPointer(rebasing: clear[3...]), tag: UnsafeRawBufferPointer(rebasing: buffer[end...]))
    }
    return isOpened ? ClickReference(bytes: Array(bytes[ClickReference.headBytes..<end])) : nil
  }
}

/// Base64 with the alphabet of URLs and file names, without padding (RFC 4648, section 5).
private enum URLBase64 {
  static func encode(_ bytes: [UInt8]) -> String {
    String(
      Base64.encode(bytes).filter { $0 != "=" }.map { character -> Character in
        switch character {
        case "+": "-"
        case "/": "_"
        default: character
        }
      })
  }

  static func decode(_ text: String) -> [UInt8]? {
    guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
    let plain = String(
      text.map { character -> Character in
        switch character {
        case "-": "+"
        case "_": "/"
        default: character
        }
      })
    return Base64.decode(plain + String(repeating: "=", count: (4 - plain.count % 4) % 4))
  }
}
