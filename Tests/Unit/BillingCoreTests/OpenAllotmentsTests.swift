import AdCore
import TestValues
import Testing

@testable import BillingCore

@Suite("The allotments that billing has open")
struct OpenAllotmentsTests {
  @Test("which have served their time is what looking at all of them says, whatever came and went", arguments: 1...30)
  func served(seed: UInt64) throws {
    let samples = try Samples()
    var random = SeededChance(seed: seed)
    func allotment(_ sequence: Int64) -> OpenAllotment {
      var allotment = samples.allotment(sequence, amount: 1_000, clickReserve: Int64.random(in: 0...9, using: &random))
      allotment.serveUntil = Samples.now.advanced(byMilliseconds: Int64.random(in: 0..<40, using: &random))
      return allotment
    }
    let stored = (1...20).map { allotment($0) }
    var known = Dictionary(uniqueKeysWithValues: stored.map { ($0.id, $0) })
    var open = OpenAllotments(stored.shuffled(using: &random))
    for sequence in Int64(21)...120 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        let id = known.keys.sorted().randomElement(using: &random) ?? 0
        open.remove(id)
        known[id] = nil
      case 1:
        // One that is there already, with another end.
        guard let id = known.keys.sorted().randomElement(using: &random), var changed = known[id] else { continue }
        changed.serveUntil = Samples.now.advanced(byMilliseconds: Int64.random(in: 0..<40, using: &random))
        open.insert(changed)
        known[id] = changed
      default:
        let next = allotment(sequence)
        open.insert(next)
        known[next.id] = next
      }
      let limit = Samples.now.advanced(byMilliseconds: Int64.random(in: -1...41, using: &random))
      let expected = known.values.filter { $0.serveUntil < limit }.map(\.id).sorted()
      #expect(open.served(before: limit).map(\.id) == expected)
      #expect(open.hasServed(before: limit) == !expected.isEmpty)
    }
    for id in known.keys { open.remove(id) }
    #expect(!open.hasServed(before: Timestamp(milliseconds: .max)))
  }

  @Test("one takes no more memory than the document says, tables of hashes half empty")
  func size() {
    // Under its id, and where it stands among those with room for clicks and among all.
    let bytes = 2 * (MemoryLayout<OpenAllotment>.stride + MemoryLayout<UInt64>.stride) + 2 * 2 * 16
    #expect(bytes <= 512, "\(bytes)")
    // Each with its id and its bound.
    #expect(2 * (MemoryLayout<AdID>.stride + MemoryLayout<Int64>.stride) <= 96)
    #expect(ClickRateBounds.adsMaximum == 32)
  }
}
