package import Crypto

/// The keyed hash by which limits per client go: of the client id, else of the session id (A8). The ids themselves are
/// stored nowhere, and without the key nobody can look for a known id among the hashes. It differs between apps, and
/// changes with the signing key (a day's click limits then begin anew). For one thread at a time.
package final class ClientHasher {
  private let keys: RingKeys<HMACSHA256>

  /// Throws where libcrypto has no HMAC-SHA-256: fatal.
  package init(ring: KeyRing) throws(CryptoError) {
    keys = try RingKeys(ring: ring, purpose: .clientHash)
  }

  /// The first 64 bits of the HMAC over app, kind of id, and id.
  package func hash(app: AppID, clientID: String, sessionID: String, now: Timestamp) -> UInt64 {
    // A slug has no NUL, so what follows it cannot be taken for a part of it.
    var input = Array(app.text.utf8)
    input.append(0)
    input.append(clientID.isEmpty ? 2 : 1)
    input.append(contentsOf: (clientID.isEmpty ? sessionID : clientID).utf8)
    return withUnsafeTemporaryAllocation(byteCount: HMACSHA256.byteCount, alignment: 8) { output in
      input.withUnsafeBytes { keys.signing(at: now).key.authenticate($0, into: output) }
      return ServeToken.load(UnsafeRawBufferPointer(output), 0)
    }
  }
}
