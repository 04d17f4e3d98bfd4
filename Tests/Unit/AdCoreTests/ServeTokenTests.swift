import Crypto
import Records
import Testing

@testable import AdBasics
@testable import AdCore

private func ring(_ ids: UInt16...) throws -> KeyRing {
  try KeyRing(keys: ids.map { try KeyRing.Key(id: $0, secret: [UInt8](repeating: UInt8($0), count: 32)) })
}

@Suite("The serve token")
struct ServeTokenTests {
  @Test("I2: a token gives back the very terms that were signed")
  func roundTrip() throws {
    let issuer = try ServeTokenIssuer(ring: try ring(1))
    let opener = try ServeTokenOpener(ring: try ring(1))
    var terms = try Samples.terms()
    #expect(opener.open(issuer.issue(terms), now: Samples.now) == .valid(terms))
    terms.isTest = true
    terms.impressionPrice = Nanos(.max)
    terms.clickPrice = Nanos(.min)
    terms.partition = .max
    terms.budgetDay = .min
    terms.shareBasisPoints = .max
    #expect(opener.open(issuer.issue(terms), now: Samples.now) == .valid(terms))
  }

  @Test("The longest and the shortest names fit, and the longest token stays under its limit")
  func lengths() throws {
    let issuer = try ServeTokenIssuer(ring: try ring(1))
    let opener = try ServeTokenOpener(ring: try ring(1))
    for length in [1, 15, 16, Slug.bytesMaximum] {
      let name = String(repeating: "n", count: length)
      var terms = try Samples.terms()
      terms.app = try #require(AppID(name))
      terms.developer = try #require(DeveloperID(name))
      terms.advertiser = try #require(AdvertiserID(name))
      terms.campaign = try #require(CampaignID(name))
      terms.ad = try #require(AdID(name))
      terms.placement = try #require(PlacementID(name))
      let token = issuer.issue(terms)
      #expect(token.count <= ServeToken.bytesMaximum)
      #expect(token.count >= ServeToken.bytesMinimum)
      #expect(opener.open(token, now: Samples.now) == .valid(terms))
    }
  }

  @Test("I1: a token with any one bit flipped is refused")
  func everyBit() throws {
    let issuer = try ServeTokenIssuer(ring: try ring(1, 2))
    let opener = try ServeTokenOpener(ring: try ring(1, 2))
    let token = issuer.issue(try Samples.terms())
    var refused = 0
    for bit in 0..<(token.count * 8) {
      var altered = token
      altered[bit / 8] ^= 1 << UInt8(bit % 8)
      switch opener.open(altered, now: Samples.now) {
      case .valid: Issue.record("the token with bit \(bit) flipped was taken")
      case .forged, .unknownKey: refused += 1
      }
    }
    #expect(refused == token.count * 8)
  }

  @Test("I1: every shortened and every lengthened token is refused")
  func everyLength() throws {
    let issuer = try ServeTokenIssuer(ring: try ring(1))
    let opener = try ServeTokenOpener(ring: try ring(1))
    let token = issuer.issue(try Samples.terms())
    for count in 0..<token.count {
      #expect(opener.open(Array(token[..<count]), now: Samples.now) == .forged)
    }
    #expect(opener.open(token + [0], now: Samples.now) == .forged)
    #expect(opener.open(token + [UInt8](repeating: 0, count: 600), now: Samples.now) == .forged)
  }

  @Test("I1: a token under another secret of the same number is forged, under another number unknown")
  func otherKeys() throws {
    let issuer = try ServeTokenIssuer(ring: try ring(1))
    let token = issuer.issue(try Samples.terms())
    let impostor = try KeyRing(keys: [try KeyRing.Key(id: 1, secret: [UInt8](repeating: 9, count: 32))])
    #expect(try ServeTokenOpener(ring: impostor).open(token, now: Samples.now) == .forged)
    #expect(try ServeTokenOpener(ring: try ring(2)).open(token, now: Samples.now) == .unknownKey)
  }

  @Test("Properly encrypted bytes that are no terms are refused as well", arguments: [77, 79, 80, 81, 82, 85, 86])
  func encryptedNonsense(offset: Int) throws {
    let keys = try RingKeys(ring: try ring(1), purpose: .serveToken) { (key) throws(CryptoError) in
      try AES256GCM(key: key)
    }
    let key = keys.signing(at: Samples.now).key
    var bytes = ServeToken.write(try Samples.terms(), keyID: 1)
    let opener = try ServeTokenOpener(ring: try ring(1))
    #expect(opener.open(ServeTokenIssuer.encrypted(bytes, key), now: Samples.now) == .valid(try Samples.terms()))
    bytes[offset] = 0xFF
    #expect(opener.open(ServeTokenIssuer.encrypted(bytes, key), now: Samples.now) == .forged)
  }

  @Test("A token shows its serve id, and of the terms no price, share, party, place or time")
  func secrecy() throws {
    let issuer = try ServeTokenIssuer(ring: try ring(1))
    let terms = try Samples.terms()
    let token = issuer.issue(terms)
    #expect(ServeToken.serveID(of: token) == terms.serveID)
    let open = ServeToken.write(terms, keyID: 1)
    #expect(Array(token[..<ServeToken.headBytes]) == Array(open[..<ServeToken.headBytes]))
    // Any four bytes of the open terms would show: by chance two tokens in ten million have four in common.
    let encrypted = token[ServeToken.headBytes...]
    for start in ServeToken.headBytes..<(open.count - 4) {
      #expect(!encrypted.indices.dropLast(3).contains { encrypted[$0..<$0 + 4].elementsEqual(open[start..<start + 4]) })
    }
    // The same terms under another serve id look like others in every part.
    var twin = terms
    twin.serveID = try #require(ServeID(high: terms.serveID.high, low: terms.serveID.low ^ 1))
    let same = zip(issuer.issue(twin)[ServeToken.headBytes...], encrypted).count { $0 == $1 }
    #expect(same < encrypted.count / 8, "\(same) of \(encrypted.count) bytes are the same")
  }

  @Test("A key verifies for 27 hours after it last signed, to the millisecond")
  func rotation() throws {
    let change = Samples.now
    let token = try ServeTokenIssuer(ring: try ring(1)).issue(try Samples.terms())
    let after = try KeyRing(keys: [
      try KeyRing.Key(id: 1, secret: [UInt8](repeating: 1, count: 32), lastSignedAt: change),
      try KeyRing.Key(id: 2, secret: [UInt8](repeating: 2, count: 32)),
    ])
    let opener = try ServeTokenOpener(ring: after)
    let end = change.advanced(byMilliseconds: 27 * 3_600_000)
    #expect(opener.open(token, now: end) == .valid(try Samples.terms()))
    #expect(opener.open(token, now: end.advanced(byMilliseconds: 1)) == .unknownKey)
    let newToken = try ServeTokenIssuer(ring: after).issue(
      try Samples.terms(issuedAt: change.advanced(byMilliseconds: 1)))
    #expect(Array(newToken[1..<3]) == [0, 2])
  }

  @Test("A new key signs from its moment on, and the one before ends then")
  func takeOver() throws {
    let change = Samples.now
    let ring = try KeyRing(keys: [
      try KeyRing.Key(id: 1, secret: [UInt8](repeating: 1, count: 32)),
      try KeyRing.Key(id: 2, secret: [UInt8](repeating: 2, count: 32), signsFrom: change),
    ])
    let keys = try RingKeys(ring: ring, purpose: .clientHash)
    #expect(keys.signing(at: change.advanced(byMilliseconds: -1)).id == 1)
    #expect(keys.signing(at: change).id == 2)
    #expect(keys.verifying(id: 1, at: change.advanced(byMilliseconds: KeyRing.verifiesMilliseconds)) != nil)
    #expect(keys.verifying(id: 1, at: change.advanced(byMilliseconds: KeyRing.verifiesMilliseconds + 1)) == nil)
    #expect(keys.verifying(id: 2, at: Timestamp(milliseconds: .max)) != nil)
    #expect(keys.verifying(id: 3, at: change) == nil)
  }
}

@Suite("The key ring's configuration")
struct KeyRingConfigurationTests {
  /// 32 bytes of 1, of 2; 31 bytes.
  static let one = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
  static let two = "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
  static let short = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=="

  @Test("Keys are read with their times, in any order")
  func reading() throws {
    let ring = try KeyRing(
      configuration: "2:\(Self.two) from 2026-01-15T12:00:00Z, 1:\(Self.one) until 2026-01-15T12:00:00.5Z")
    #expect(ring.keys.map(\.id) == [1, 2])
    #expect(ring.keys.map(\.secret) == [[UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32)])
    #expect(ring.keys[1].signsFrom == Samples.now)
    #expect(ring.keys[0].lastSignedAt == Samples.now.advanced(byMilliseconds: 500))
  }

  @Test(
    "Wrong configurations are refused with what is wrong",
    arguments: [
      ("", KeyRingError.empty), (" , ", .empty), ("1", .invalidEntry(position: 1)),
      ("1:\(one),", .invalidEntry(position: 2)), ("x:\(one)", .invalidID(text: "x")),
      ("0:\(one)", .invalidID(text: "0")), ("65536:\(one)", .invalidID(text: "65536")),
      ("1:!", .invalidSecret(id: 1)), ("1:\(short)", .secretTooShort(id: 1, bytes: 31)),
      ("1:\(one),1:\(two)", .duplicateID(id: 1)), ("1:\(one) since 2026-01-15T12:00:00Z", .invalidEntry(position: 1)),
      ("1:\(one) from yesterday", .invalidTime(id: 1)), ("1:\(one) from", .invalidEntry(position: 1)),
      ("1:\(one) until 2026-01-15T12:00:00Z", .nothingSigns(id: 1)),
    ])
  func refused(configuration: String, error: KeyRingError) {
    #expect(throws: error) { try KeyRing(configuration: configuration) }
  }

  @Test("More than 16 keys are refused")
  func tooMany() throws {
    func list(_ count: Int) -> String { (1...count).map { "\($0):\(Self.one)" }.joined(separator: ",") }
    #expect(try KeyRing(configuration: list(16)).keys.count == 16)
    #expect(throws: KeyRingError.tooManyKeys(count: 17)) { try KeyRing(configuration: list(17)) }
  }

  @Test("No description, dump or error shows a secret")
  func secrecy() throws {
    let ring = try KeyRing(configuration: "1:\(Self.one),2:\(Self.two)")
    var dumped = ""
    dump(ring, to: &dumped)
    dump(ring.keys, to: &dumped)
    let texts = [dumped, "\(ring)", String(reflecting: ring), "\(ring.keys)", String(reflecting: ring.keys[0])]
    for text in texts {
      #expect(!text.contains("AQEB") && !text.contains("1, 1, 1") && !text.contains("secret"))
      #expect(text.contains("1"))
    }
    let misplaced = #expect(throws: KeyRingError.self) { try KeyRing(configuration: "\(Self.one):1") }
    #expect(misplaced.map { !$0.description.contains("AQEB") } == true)
    let unpadded = #expect(throws: KeyRingError.self) { try KeyRing(configuration: "1:\(Self.one.dropLast())") }
    #expect(unpadded.map { !$0.description.contains("AQEB") } == true)
  }
}

@Suite("Marks, client hashes and partitions")
struct MarkAndHashTests {
  @Test("A forwarding mark holds for its payload and partition only")
  func forwardingMark() throws {
    let marks = try ForwardingMark(ring: try ring(1))
    let payload: [UInt8] = Array("a request".utf8)
    let mark = payload.withUnsafeBytes { marks.mark(payload: $0, partition: 3, now: Samples.now) }
    #expect(mark.count == ForwardingMark.byteCount && mark.allSatisfy { (0x2B...0x7A).contains($0) }, "not text")
    func verifies(_ mark: [UInt8], _ payload: [UInt8], _ partition: Int32) -> Bool {
      mark.withUnsafeBytes { mark in
        payload.withUnsafeBytes { marks.verifies(mark, payload: $0, partition: partition, now: Samples.now) }
      }
    }
    #expect(verifies(mark, payload, 3))
    #expect(!verifies(mark, payload, 4))
    #expect(!verifies(mark, payload + [0], 3))
    #expect(!verifies(mark, [], 3))
    #expect(!verifies(Array(mark.dropLast()), payload, 3))
    #expect(!verifies([], payload, 3))
    for bit in 0..<(mark.count * 8) {
      var altered = mark
      altered[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(!verifies(altered, payload, 3))
    }
  }

  @Test("A8: the client hash goes by the client id, else the session id, and differs between apps and kinds of id")
  func clientHash() throws {
    let hasher = try ClientHasher(ring: try ring(1))
    let weather = try #require(AppID("weather"))
    let chess = try #require(AppID("chess"))
    func hash(_ app: AppID, _ client: String, _ session: String) -> UInt64 {
      hasher.hash(app: app, clientID: client, sessionID: session, now: Samples.now)
    }
    #expect(hash(weather, "c", "s") == hash(weather, "c", "other session"))
    #expect(hash(weather, "", "s") == hash(weather, "", "s"))
    let all = [
      hash(weather, "c", "s"), hash(weather, "", "c"), hash(weather, "", "s"), hash(chess, "c", "s"),
      try ClientHasher(ring: try ring(2)).hash(app: weather, clientID: "c", sessionID: "s", now: Samples.now),
    ]
    #expect(Set(all).count == all.count)
  }

  @Test(
    "murmur2 gives what Kafka's clients give",
    arguments: [
      ("21", -973_932_308), ("foobar", -790_332_482), ("a-little-bit-long-string", -985_981_536),
      ("a-little-bit-longer-string", -1_486_304_829),
      ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971), ("abc", 479_470_107),
    ] as [(String, Int32)])
  func murmur2(key: String, expected: Int32) {
    #expect(Array(key.utf8).withUnsafeBytes { KafkaPartition.murmur2($0) } == expected)
    for count: Int32 in [1, 2, 7, 64, .max] {
      #expect(KafkaPartition.of(key: key, count: count) == Int32(Int64(expected & 0x7FFF_FFFF) % Int64(count)))
    }
  }
}
