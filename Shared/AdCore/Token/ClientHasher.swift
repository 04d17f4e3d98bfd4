package import Crypto

/// The keyed hash by which limits per client go: of the client id, else of the session id (A8). The ids themselves are
/// stored nowhere (docs/privacy.md), and without the key nobody can look for a known id among the hashes. It differs between apps, and
/// changes with the signing key (a day's click limits then begin anew). For one thread at a time.
package final class ClientHasher {
  private let keys: RingKeys<HMACSHA256>

  /// Throws where libcrypto has no HMAC-SHA-256: fatal.
  package init(ring: KeyRing) throws(CryptoError) {
    keys = try RingKeys(ring: ring, purpose: .clientHash)
  }

  /// The first 64 bits of the HMAC over app, kind of id, and id.
  package func hash(app: AppID, clientID: String, sessionID: String, now: Timestamp) -> UInt64 {
    let isSession = clientID.isEmpty
    let input = Self.input(app, isSession: isSession, (isSession ? sessionID : clientID).utf8)
    return Self.hash(input, by: keys.signing(at: now).key)
  }

  /// Whether an ad was served to the client, or else the session, that has this id: its hash was made of it.
  ///
  /// - Parameter id: the key of a record, which only whoever the ad was served to can know.
  package func isClient(of terms: ServedTerms, id: UnsafeRawBufferPointer) -> Bool {
    let client = Self.input(terms.app, isSession: false, id)
    // Nearly always the first try.
    if Self.hash(client, by: keys.signing(at: terms.issuedAt).key) == terms.clientHash { return true }
    let session = Self.input(terms.app, isSession: true, id)
    return keys.all(signingAt: terms.issuedAt).contains { key in
      Self.hash(session, by: key) == terms.clientHash || Self.hash(client, by: key) == terms.clientHash
    }
  }

  /// What an id was hashed to by any key of the ring, as a client id or as a session id: for whoever looks for what is stored
  /// about it.
  package func hashes(app: AppID, id: String) -> [UInt64] {
    [false, true].flatMap { isSession in
      let input = Self.input(app, isSession: isSession, id.utf8)
      return keys.all.map { Self.hash(input, by: $0) }
    }
  }

  private static func input(_ app: AppID, isSession: Bool, _ id: some Sequence<UInt8>) -> [UInt8] {
    // A slug has no NUL, so what follows it cannot be taken for a part of it.
    var input = app.withBytes { Array($0) }
    input.append(0)
    input.append(isSession ? 2 : 1)
    input.append(contentsOf: id)
    return input
  }

  private static func hash(_ input: [UInt8], by key: HMACSHA256) -> UInt64 {
    withUnsafeTemporaryAllocation(byteCount: HMACSHA256.byteCount, alignment: 8) { output in
      input.withUnsafeBytes { key.authenticate($0, into: output) }
      return ServeToken.load(UnsafeRawBufferPointer(output), 0)
    }
  }
}
