import AdCore
import AdEvents
import Pipeline
import TestValues
import Testing

@testable import ClickTrackingCore

@Suite("M5: the order of click and impression")
struct OrderTests {
  /// What stays the same whenever the impression comes: everything but sequences and the way there.
  private struct Row: Hashable {
    var accepted: AcceptedClick
  }

  private func rows(_ tables: MemoryTables) -> Set<Row> { Set(tables.clicks.map { Row(accepted: $0.accepted) }) }

  /// Runs the events in batches cut at random; some commits fail and are tried again, and owners change.
  private func run(_ events: [ClickInput], using random: inout SeededChance) -> MemoryTables {
    // So few that the tables are asked for most, in half of the runs.
    let serves = Bool.random(using: &random) ? Int.random(in: 1...3, using: &random) : ClickMemory.servesMaximum
    var tables = MemoryTables(memory: ClickMemory(servesMaximum: serves))
    var rest = events[...]
    while !rest.isEmpty {
      let batch = Array(rest.prefix(Int.random(in: 1...events.count, using: &random)))
      if Int.random(in: 0..<4, using: &random) == 0 { tables.run(batch, isLost: true) }
      if Int.random(in: 0..<6, using: &random) == 0 { tables.reload() }
      tables.run(batch)
      rest = rest.dropFirst(batch.count)
    }
    return tables
  }

  @Test("In every order of six clicks, wherever the impression and the batches' borders fall, the rows are the same")
  func everyOrder() throws {
    let terms = try Samples.terms()
    let shown = Samples.impression(terms, age: 1_000)
    let clicks = [
      Samples.click(terms, id: 1, age: 3_000), Samples.click(terms, id: 2, age: 9_000, left: false),
      Samples.click(terms, id: 1, age: 3_000), Samples.click(terms, id: 3, age: 1_050),
      Samples.click(terms, id: 4, age: 90_000), Samples.click(terms, id: 5, age: 5_000),
    ]
    var random = SeededChance(seed: 11)
    var differences = 0
    for order in permutations(clicks) {
      let expected = run([shown] + order, using: &random)
      for place in 1...order.count {
        var events = order
        events.insert(shown, at: place)
        let found = run(events, using: &random)
        if rows(found) != rows(expected) || found.counts != expected.counts || !found.parked.isEmpty {
          differences += 1
        }
      }
    }
    #expect(differences == 0)
  }

  @Test("Many serves and clients at random: moving each impression changes nothing", arguments: 0..<40 as Range<UInt64>)
  func manyServes(seed: UInt64) throws {
    var random = SeededChance(seed: 1_000 + seed)
    let serves = try (1...8).map { try Samples.terms(serve: UInt64($0), client: UInt64($0) % 3) }
    var clicks: [ClickInput] = []
    for _ in 0..<60 {
      let terms = serves[Int.random(in: 0..<serves.count, using: &random)]
      let kind: TapKind = Int.random(in: 0..<8, using: &random) == 0 ? .blocked : .click
      // An event sent again is the same event.
      let id = UInt64.random(in: 1...9, using: &random)
      clicks.append(
        Samples.click(
          terms, id: (terms.serveID.low & 0xFF) * 100 + id, age: 1_000 + Int64(id) * 40_000, left: id % 4 != 0,
          kind: kind))
    }
    let shown = serves.map { Samples.impression($0, age: 1_500) }
    let expected = run(shown + clicks, using: &random)
    #expect(expected.clicks.contains { $0.accepted.verdict == .billable })
    var events = clicks
    for impression in shown { events.insert(impression, at: Int.random(in: 0...events.count, using: &random)) }
    let found = run(events, using: &random)
    #expect(rows(found) == rows(expected))
    #expect(found.counts == expected.counts)
    #expect(found.parked.isEmpty)
    #expect(found.clicks.map(\.sequence) == Array(1...Int64(found.clicks.count)))
  }
}
