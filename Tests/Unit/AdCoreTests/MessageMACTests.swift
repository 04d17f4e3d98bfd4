import AdCore
import TestValues
import Testing

@Suite("The MAC of messages between services")
struct MessageMACTests {
  private func verdict(
    _ mac: [UInt8], _ ring: KeyRing = .sample, topic: String = "ads.usage", partition: Int32 = 3,
    key: [UInt8]? = [1, 2], value: [UInt8]? = [3, 4, 5]
  ) throws -> MessageMAC.Authenticity {
    try mac.withUnsafeBytes { mac in
      try Self.withBytes(key, value) { key, value in
        try MessageMAC(ring: ring).authenticity(mac, topic: topic, partition: partition, key: key, value: value)
      }
    }
  }

  private func mac(
    _ ring: KeyRing = .sample, key: [UInt8]? = [1, 2], value: [UInt8]? = [3, 4, 5]
  ) throws -> [UInt8] {
    try Self.withBytes(key, value) { key, value in
      try MessageMAC(ring: ring).make(topic: "ads.usage", partition: 3, key: key, value: value, now: .sample)
    }
  }

  private static func withBytes<Result>(
    _ key: [UInt8]?, _ value: [UInt8]?,
    _ body: (UnsafeRawBufferPointer?, UnsafeRawBufferPointer?) throws -> Result
  ) rethrows -> Result {
    try (key ?? []).withUnsafeBytes { keyBytes in
      try (value ?? []).withUnsafeBytes { try body(key == nil ? nil : keyBytes, value == nil ? nil : $0) }
    }
  }

  @Test("It binds the mark of its writer's database, also where there is none")
  func mark() throws {
    let marks = [nil, [], Array("a".utf8), Array("b".utf8), Array("ab".utf8)] as [[UInt8]?]
    for made in marks {
      let mac = try Self.withBytes(made, [3]) { mark, value in
        try MessageMAC(ring: .sample).make(
          topic: "ads.usage", partition: 3, key: nil, value: value, mark: mark, now: .sample)
      }
      for told in marks {
        let verdict = try mac.withUnsafeBytes { mac in
          try Self.withBytes(told, [3]) { mark, value in
            try MessageMAC(ring: .sample).authenticity(
              mac, topic: "ads.usage", partition: 3, key: nil, value: value, mark: mark)
          }
        }
        #expect((verdict == .genuine) == (made == told))
      }
    }
  }

  @Test("It is text of one length, genuine for its own message, and for no other")
  func binding() throws {
    let mac = try mac()
    #expect(mac.count == MessageMAC.byteCount && mac.allSatisfy { (0x21...0x7E).contains($0) })
    #expect(try verdict(mac) == .genuine)
    #expect(try verdict(mac, topic: "ads.budgets") == .wrong)
    #expect(try verdict(mac, partition: 2) == .wrong)
    for key in [nil, [], [1], [1, 3], [1, 2, 3]] as [[UInt8]?] { #expect(try verdict(mac, key: key) == .wrong) }
    for value in [nil, [], [3, 4], [3, 4, 6], [3, 4, 5, 0]] as [[UInt8]?] {
      #expect(try verdict(mac, value: value) == .wrong)
    }
    // What moves from the key to the value is another message; so is an empty one in place of none.
    #expect(try verdict(mac, key: [1], value: [2, 3, 4, 5]) == .wrong)
    #expect(try verdict(try self.mac(key: nil), key: []) == .wrong)
    #expect(try verdict(try self.mac(value: nil), value: []) == .wrong)
  }

  @Test("None, a part, an altered one: wrong")
  func altered() throws {
    let mac = try mac()
    #expect(try verdict([]) == .wrong)
    for index in mac.indices {
      var altered = mac
      altered[index] ^= 1
      #expect(try verdict(altered) != .genuine)
      #expect(try verdict(Array(mac[..<index])) == .wrong)
    }
    #expect(try verdict([UInt8](repeating: 0xFF, count: MessageMAC.byteCount)) == .wrong)
  }

  @Test("Any key of the ring is believed, however long ago it signed last; one that is not in it is not")
  func rotation() throws {
    #expect(try verdict(try mac(), .sample(1, 2)) == .genuine)
    #expect(try verdict(try mac(.sample(1, 2)), .sample(2, 3)) == .genuine)
    #expect(try verdict(try mac(), .sample(2)) == .unknownKey)
    let later = Timestamp.sample.advanced(byMilliseconds: 30 * 86_400_000)
    let ended = try KeyRing(keys: [
      KeyRing.Key(id: 1, secret: Array(repeating: 1, count: 32), lastSignedAt: .sample),
      KeyRing.Key(id: 2, secret: Array(repeating: 2, count: 32), signsFrom: later),
    ])
    #expect(try verdict(try mac(), ended) == .genuine)
  }
}
