internal import Crypto

/// The secrets behind serve tokens, forwarding marks and client hashes: several keys by number, so that they can be
/// changed while tokens of the old one are in the world. The highest key whose time has come signs; each verifies for
/// 27 hours after it last signed. Its description shows no secret.
package struct KeyRing: Sendable, CustomStringConvertible, CustomReflectable {
  /// One secret with its number and its time.
  package struct Key: Sendable, CustomStringConvertible, CustomReflectable {
    package let id: UInt16
    let secret: [UInt8]
    /// The first moment at which it signs; nil for always. A new key can so be known everywhere before it is used.
    package let signsFrom: Timestamp?
    /// The last moment at which it signed; nil while nothing ends its use.
    package let lastSignedAt: Timestamp?

    /// A key of at least ``KeyRing/secretBytesMinimum`` bytes.
    package init(
      id: UInt16, secret: [UInt8], signsFrom: Timestamp? = nil, lastSignedAt: Timestamp? = nil
    ) throws(KeyRingError) {
      guard id > 0 else { throw .invalidID(text: "0") }
      guard secret.count >= KeyRing.secretBytesMinimum else { throw .secretTooShort(id: id, bytes: secret.count) }
      self.id = id
      self.secret = secret
      self.signsFrom = signsFrom
      self.lastSignedAt = lastSignedAt
    }

    package var description: String { "key \(id)" }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
  }

  /// The shortest secret, in bytes: what HMAC-SHA-256 itself gives.
  package static let secretBytesMinimum = 32
  /// The most keys of a ring.
  package static let keysMaximum = 16
  /// How long a key verifies after it last signed: 27 h, which covers the 26 h that a token may be old and an hour in
  /// which signers may disagree about the change.
  package static let verifiesMilliseconds: Int64 = 27 * 3_600_000

  /// The keys, by ascending number. Never empty.
  package let keys: [Key]

  /// A ring of these keys: at least one, with different numbers; the highest must not have ended.
  package init(keys: [Key]) throws(KeyRingError) {
    guard let highest = keys.max(by: { $0.id < $1.id }) else { throw .empty }
    guard keys.count <= KeyRing.keysMaximum else { throw .tooManyKeys(count: keys.count) }
    let sorted = keys.sorted { $0.id < $1.id }
    for (left, right) in zip(sorted, sorted.dropFirst()) where left.id == right.id {
      throw .duplicateID(id: left.id)
    }
    guard highest.lastSignedAt == nil else { throw .nothingSigns(id: highest.id) }
    self.keys = sorted
  }

  /// The key that signs at `now`: the highest whose time has come and that has not ended; the highest of all where there
  /// is none.
  func signingIndex(at now: Timestamp) -> Int {
    keys.lastIndex { key in
      key.signsFrom.map { $0 <= now } ?? true && key.lastSignedAt.map { $0 >= now } ?? true
    } ?? keys.count - 1
  }

  /// When the key at `index` signs for the last time: as it says itself, or when the next one takes over.
  func lastSigned(index: Int) -> Timestamp? {
    keys[index].lastSignedAt ?? keys[(index + 1)...].compactMap(\.signsFrom).min()
  }

  package var description: String { "key ring of \(keys.map { String($0.id) }.joined(separator: ", "))" }
  package var customMirror: Mirror { Mirror(self, children: ["keys": keys.map(\.id)]) }
}

/// What is wrong with a key ring's configuration. Tells where, never what the secret is.
package enum KeyRingError: Error, Equatable, CustomStringConvertible {
  case empty
  case tooManyKeys(count: Int)
  case duplicateID(id: UInt16)
  case nothingSigns(id: UInt16)
  case invalidEntry(position: Int)
  case invalidID(text: String)
  case invalidSecret(id: UInt16)
  case secretTooShort(id: UInt16, bytes: Int)
  case invalidTime(id: UInt16)

  package var description: String {
    switch self {
    case .empty: "the key ring is empty: give at least one key as ID:BASE64"
    case .tooManyKeys(let count): "\(count) keys are more than the \(KeyRing.keysMaximum) a ring may hold"
    case .duplicateID(let id): "key \(id) is there twice: give each key its own number"
    case .nothingSigns(let id): "key \(id) is the highest and has an end (until): nothing would sign after it"
    case .invalidEntry(let position):
      "key number \(position) of the list is not of the form ID:BASE64, ID:BASE64 from TIME or ID:BASE64 until TIME"
    case .invalidID(let text): "key number “\(text)” is not between 1 and 65535"
    case .invalidSecret(let id): "the secret of key \(id) is not valid base64"
    case .secretTooShort(let id, let bytes):
      "the secret of key \(id) has \(bytes) bytes: it needs \(KeyRing.secretBytesMinimum) or more"
    case .invalidTime(let id): "a time of key \(id) is not of the form 2026-01-31T23:59:59Z"
    }
  }
}

extension KeyRing {
  /// Reads `ID:BASE64` entries separated by commas, each optionally followed by ` from TIME` and ` until TIME` (UTC, as
  /// in `2026-01-31T23:59:59Z`): `1:AAAA…,2:BBBB… from 2026-02-01T00:00:00Z`.
  package init(configuration: String) throws(KeyRingError) {
    var keys: [Key] = []
    let entries = configuration.split(separator: ",", omittingEmptySubsequences: false)
    guard entries.contains(where: { !$0.allSatisfy(\.isWhitespace) }) else { throw .empty }
    for (index, entry) in entries.enumerated() {
      keys.append(try KeyRing.key(entry: entry, position: index + 1))
    }
    try self.init(keys: keys)
  }

  private static func key(entry: Substring, position: Int) throws(KeyRingError) -> Key {
    let words = entry.split(whereSeparator: \.isWhitespace)
    guard let first = words.first, words.count % 2 == 1, let colon = first.firstIndex(of: ":") else {
      throw .invalidEntry(position: position)
    }
    guard let id = UInt16(first[..<colon]), id > 0 else {
      // Whoever forgot the number may have put the secret there: it is not repeated.
      throw colon <= first.index(first.startIndex, offsetBy: 5, limitedBy: first.endIndex) ?? first.endIndex
        ? .invalidID(text: String(first[..<colon])) : .invalidEntry(position: position)
    }
    guard let secret = Base64.decode(String(first[first.index(after: colon)...])) else { throw .invalidSecret(id: id) }
    var times: [Substring: Timestamp] = [:]
    for index in stride(from: 1, to: words.count, by: 2) {
      guard ["from", "until"].contains(words[index]), times[words[index]] == nil else {
        throw .invalidEntry(position: position)
      }
      guard let time = Timestamp(utcText: String(words[index + 1])) else { throw .invalidTime(id: id) }
      times[words[index]] = time
    }
    return try Key(id: id, secret: secret, signsFrom: times["from"], lastSignedAt: times["until"])
  }
}
