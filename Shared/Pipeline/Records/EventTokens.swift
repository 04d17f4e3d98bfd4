package import AdCore
package import AdEvents
package import Crypto

/// Opens the serve tokens that events carry (I1). For one thread at a time.
package struct EventTokens {
  private let opener: ServeTokenOpener
  private let hasher: ClientHasher

  package init(ring: KeyRing) throws(CryptoError) {
    opener = try ServeTokenOpener(ring: ring)
    hasher = try ClientHasher(ring: ring)
  }

  /// What was agreed on when the ad was served, or why the event does not count.
  ///
  /// - Parameters:
  ///   - client: the key of the event's record, which only whoever the ad was served to can know.
  ///   - now: when the event arrived.
  package func terms(
    _ token: UnsafeRawBufferPointer, of client: UnsafeRawBufferPointer?, now: Timestamp
  ) -> Result<ServedTerms, Rejection> {
    switch opener.open(token, now: now) {
    case .valid(let terms):
      guard let client, hasher.isClient(of: terms, id: client) else {
        return .failure(Rejection(.notItsClient, "the record's key is not the client that the ad was served to"))
      }
      return .success(terms)
    case .forged: return .failure(Rejection(.tokenForged, "the serve token is not ours or was altered"))
    case .unknownKey:
      return .failure(Rejection(.tokenKeyUnknown, "the serve token's key is unknown or past its time"))
    }
  }
}
