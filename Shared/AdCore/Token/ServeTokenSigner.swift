package import Crypto

/// Makes serve tokens. For one thread at a time.
package final class ServeTokenSigner {
  private let macs: RingMAC

  /// Throws where libcrypto has no HMAC-SHA-256: fatal.
  package init(ring: KeyRing) throws(CryptoError) {
    macs = try RingMAC(ring: ring, purpose: .serveToken)
  }

  /// The token of `terms`, under the key that signs when they are issued. At most ``ServeToken/bytesMaximum`` bytes.
  package func sign(_ terms: ServedTerms) -> [UInt8] {
    let key = macs.signing(at: terms.issuedAt)
    var token = ServeToken.write(terms, keyID: key.id)
    withUnsafeTemporaryAllocation(byteCount: ServeToken.macBytes, alignment: 8) { mac in
      token.withUnsafeBytes { key.mac.authenticate($0, into: mac) }
      token.append(contentsOf: mac)
    }
    return token
  }
}

/// What a serve token is worth (I1).
package enum TokenVerdict: Hashable, Sendable {
  /// Ours, unaltered. Whether its time is over is for ``EventTiming`` to judge.
  case valid(ServedTerms)
  /// It does not parse, or its MAC is wrong.
  case forged
  /// Its key is not in the ring, or past its time.
  case unknownKey
}

/// Checks serve tokens: the MAC first, and nothing of a token is believed before. For one thread at a time.
package final class ServeTokenVerifier {
  private let macs: RingMAC

  /// Throws where libcrypto has no HMAC-SHA-256: fatal.
  package init(ring: KeyRing) throws(CryptoError) {
    macs = try RingMAC(ring: ring, purpose: .serveToken)
  }

  /// Judges `bytes`. `now` is the arrival of the event that carries them: it decides whether the key still verifies.
  package func verify(_ bytes: UnsafeRawBufferPointer, now: Timestamp) -> TokenVerdict {
    guard (ServeToken.bytesMinimum...ServeToken.bytesMaximum).contains(bytes.count),
      bytes[0] == ServeToken.version
    else { return .forged }
    guard let mac = macs.verifying(id: ServeToken.load(bytes, 1), at: now) else { return .unknownKey }
    let end = bytes.count - ServeToken.macBytes
    let signed = UnsafeRawBufferPointer(rebasing: bytes[..<end])
    guard mac.isValid(UnsafeRawBufferPointer(rebasing: bytes[end...]), for: signed),
      let terms = ServeToken.read(signed)
    else { return .forged }
    return .valid(terms)
  }

  /// The same for an array.
  package func verify(_ bytes: [UInt8], now: Timestamp) -> TokenVerdict {
    bytes.withUnsafeBytes { verify($0, now: now) }
  }
}
