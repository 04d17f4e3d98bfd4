package import Crypto

/// Makes serve tokens. For one thread at a time.
package final class ServeTokenIssuer {
  private let keys: RingKeys<AES256GCM>

  /// Throws where libcrypto has no AES-256-GCM: fatal.
  package init(ring: KeyRing) throws(CryptoError) {
    keys = try RingKeys(ring: ring, purpose: .serveToken) { (key) throws(CryptoError) in try AES256GCM(key: key) }
  }

  /// The token of `terms`, under the key that encrypts when they are issued. At most ``ServeToken/bytesMaximum`` bytes.
  package func issue(_ terms: ServedTerms) -> [UInt8] {
    let signing = keys.signing(at: terms.issuedAt)
    return Self.encrypted(ServeToken.write(terms, keyID: signing.id), signing.key)
  }

  /// Encrypts a token that lies open.
  static func encrypted(_ open: [UInt8], _ key: AES256GCM) -> [UInt8] {
    var token = open
    token.append(contentsOf: repeatElement(0, count: ServeToken.tagBytes))
    token.withUnsafeMutableBytes { token in
      let clear = UnsafeRawBufferPointer(rebasing: token[..<ServeToken.headBytes])
      key.encrypt(
        UnsafeMutableRawBufferPointer(rebasing: token[ServeToken.headBytes..<open.count]), clear: clear,
        nonce: UnsafeRawBufferPointer(rebasing: clear[ServeToken.serveIDRange]),
        tag: UnsafeMutableRawBufferPointer(rebasing: token[open.count...]))
    }
    return token
  }
}

/// What a serve token is worth (I1).
package enum OpenedToken: Hashable, Sendable {
  /// Ours, unaltered. Whether its time is over is for ``EventTiming`` to judge.
  case valid(ServedTerms)
  /// It does not parse, or its tag is wrong.
  case forged
  /// Its key is not in the ring, or past its time.
  case unknownKey
}

/// Opens serve tokens: nothing of a token is believed before its tag was checked. For one thread at a time.
package final class ServeTokenOpener {
  private let keys: RingKeys<AES256GCM>

  /// Throws where libcrypto has no AES-256-GCM: fatal.
  package init(ring: KeyRing) throws(CryptoError) {
    keys = try RingKeys(ring: ring, purpose: .serveToken) { (key) throws(CryptoError) in try AES256GCM(key: key) }
  }

  /// Judges `bytes`. `now` is the arrival of the event that carries them: it decides whether the key still opens.
  package func open(_ bytes: UnsafeRawBufferPointer, now: Timestamp) -> OpenedToken {
    guard (ServeToken.bytesMinimum...ServeToken.bytesMaximum).contains(bytes.count),
      bytes[0] == ServeToken.version
    else { return .forged }
    guard let key = keys.verifying(id: ServeToken.load(bytes, 1), at: now) else { return .unknownKey }
    let end = bytes.count - ServeToken.tagBytes
    let terms = withUnsafeTemporaryAllocation(byteCount: end, alignment: 8) { open -> ServedTerms? in
      open.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<end]))
      let clear = UnsafeRawBufferPointer(rebasing: open[..<ServeToken.headBytes])
      let isOpened = key.decrypt(
        UnsafeMutableRawBufferPointer(rebasing: open[ServeToken.headBytes...]), clear: clear,
        nonce: UnsafeRawBufferPointer(rebasing: clear[ServeToken.serveIDRange]),
        tag: UnsafeRawBufferPointer(rebasing: bytes[end...]))
      return isOpened ? ServeToken.read(UnsafeRawBufferPointer(open)) : nil
    }
    return terms.map { .valid($0) } ?? .forged
  }

  /// The same for an array.
  package func open(_ bytes: [UInt8], now: Timestamp) -> OpenedToken {
    bytes.withUnsafeBytes { open($0, now: now) }
  }
}
