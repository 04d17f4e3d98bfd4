import AdCore
import AdEvents
import Testing

@testable import ImpressionTrackingCore
@testable import Pipeline

@Suite("What impression tracking remembers")
struct ImpressionMemoryTests {
  @Test("M4: the partitions of a process remember ids within one bound, and what they had is given back")
  func bounded() throws {
    let memory = ImpressionMemory(bytesMaximum: 1 << 20)
    #expect(memory.shown.maximum + memory.others.maximum == 1 << 20)
    var deciders = (0..<100).map { _ in
      ImpressionDecider(windows: Windows(), now: ImpressionDeciderTests.now, memory: memory)
    }
    for number in 0..<20_000 as Range<UInt64> {
      let index = Int(number % 100)
      let decision = try Sample.decide(&deciders[index], [try Sample.failure(number)])
      #expect(decision.effects.failures.count == 1)
      let again = try Sample.decide(&deciders[index], [try Sample.failure(number)])
      #expect(again.outcomes == [.duplicate])
    }
    #expect((1...memory.others.maximum).contains(memory.others.held))
    // Who invents failures has no impressions forgotten.
    #expect(memory.shown.held == 0)
    deciders = []
    #expect(memory.others.held == 0)
  }

  @Test("M4: each kind of event of an ad counts once, beside all others of it")
  func kinds() throws {
    var decider = ImpressionDecider(windows: Windows(), now: ImpressionDeciderTests.now)
    let terms = try Sample.terms()
    let inputs: [ImpressionInput] = [
      .viewed(terms), .event(terms, .rendered), .event(terms, .unloaded), .event(terms, .failed),
      .viewed(terms, age: 0),
    ]
    let first = try Sample.decide(&decider, inputs)
    #expect(first.outcomes == [.accepted, .accepted, .accepted, .accepted, .impossible])
    for _ in 0..<2 {
      let again = try Sample.decide(&decider, inputs)
      #expect(again.outcomes.allSatisfy { $0 == .duplicate })
      // Nothing of it is taken back: it took nothing.
      #expect(decider.revert() == true)
    }
  }
}
