import TestValues
import Testing

@testable import AdCore

@Suite("The edge's mark")
struct EdgeMarkTests {
  private static let sight = EdgeSight(
    country: Country("DE"), agent: .browser, isDataCentre: true, isKnownBot: false, network: 0x8000_00FF)

  private func open(
    _ mark: [UInt8], key: [UInt8] = [1, 2], value: [UInt8] = [3], ring: KeyRing = .sample(1)
  ) throws -> EdgeSight? {
    let edge = try EdgeMark(ring: ring)
    return mark.withUnsafeBytes { mark in
      key.withUnsafeBytes { key in value.withUnsafeBytes { edge.sight(mark, key: key, value: $0, now: .sample) } }
    }
  }

  private func mark(_ sight: EdgeSight, key: [UInt8] = [1, 2], value: [UInt8] = [3]) throws -> [UInt8] {
    let edge = try EdgeMark(ring: .sample(1))
    return key.withUnsafeBytes { key in
      value.withUnsafeBytes { edge.make(sight, key: key, value: $0, now: .sample) }
    }
  }

  @Test("what it tells comes back, for its key and value alone")
  func binding() throws {
    let made = try mark(Self.sight)
    #expect(made.count == EdgeMark.byteCount)
    #expect(try open(made) == Self.sight)
    #expect(try open(made, key: [1], value: [2, 3]) == nil)
    #expect(try open(made, key: [1, 2], value: [4]) == nil)
    #expect(try open(made, key: [], value: [1, 2, 3]) == nil)
    #expect(try open(made, ring: .sample(2)) == nil)
    #expect(try open([]) == nil)
    for position in made.indices {
      var altered = made
      altered[position] = altered[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(try open(altered) == nil, "the character at \(position) does not count")
    }
  }

  @Test("each kind of sight has flags of its own", arguments: AgentClass.allCases)
  func flags(agent: AgentClass) throws {
    for bits in UInt8(0)..<8 {
      let sight = EdgeSight(
        country: bits & 1 == 0 ? nil : Country("US"), agent: agent, isDataCentre: bits & 2 != 0,
        isKnownBot: bits & 4 != 0, network: bits == 0 ? nil : UInt32(bits) << 29)
      #expect(sight.flags == 1 | bits << 1 | agent.rawValue << 4)
      #expect(try open(mark(sight)) == sight)
      #expect(try open(mark(sight))?.network == sight.network)
    }
  }

  @Test("each sight is said in one way only, and none but a network says 0")
  func canonical() throws {
    var sight = Self.sight
    #expect(sight.bytes == [0x27, 0x44, 0x45, 0x80, 0, 0, 0xFF])
    sight.network = 0
    #expect(sight.network == nil && sight.bytes == [0x27, 0x44, 0x45, 0, 0, 0, 0])
    let none = EdgeSight(country: Country("DE"), agent: .browser, isDataCentre: true, isKnownBot: false)
    #expect(sight == none && none.network == nil)
    for flags in UInt8.min...UInt8.max {
      for rest: [UInt8] in [
        [0, 0, 0, 0, 0, 0], [0x44, 0x45, 0, 0, 0, 0], [0x44, 0x45, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0],
      ] {
        let bytes = [flags] + rest
        if let read = bytes.withUnsafeBytes(EdgeSight.init(_:)) { #expect(read.bytes == bytes) }
      }
    }
    for wrong: [UInt8] in [[1, 0, 0], [1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0]] {
      #expect(wrong.withUnsafeBytes(EdgeSight.init(_:)) == nil)
    }
  }
}
