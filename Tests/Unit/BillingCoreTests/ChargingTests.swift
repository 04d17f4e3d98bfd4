import AdCore
import AdEvents
import BillingCore
import Pipeline
import TestValues
import Testing

@Suite("What an event is paid from")
struct ChargingTests {
  @Test("B4: exactly as many impressions as the allotment pays for are charged; the next draws on free budget")
  func exactlyAsMany() throws {
    let samples = try Samples()
    let count = 7
    let amount = Samples.cpm10.value * Int64(count)
    var decider = samples.decider(samples.allotment(amount: amount))
    let decision = decider.decide(Array(repeating: samples.impression(), count: count + 1))
    #expect(decision.effects.charges.map(\.fate) == Array(repeating: .charged, count: count) + [.drawing])
    #expect(decision.effects.allotmentCharges.mapValues(\.amount) == [samples.terms.allotment: amount])
    #expect(decision.effects.draws.map(\.charge) == [count])
    #expect(decision.effects.draws.allSatisfy { !$0.isLate })
    #expect(decision.outcomes == Array(repeating: .accepted, count: count + 1))
    #expect(decider.open[samples.terms.allotment]?.charged == amount)
  }

  @Test("B4: an event fits its allotment to the nano", arguments: [(-1, false), (0, true), (1, true)])
  func toTheNano(surplus: Int64, fits: Bool) throws {
    let samples = try Samples()
    var decider = samples.decider(samples.allotment(amount: 5 + Samples.click2.value + surplus, charged: 5))
    let decision = decider.decide([samples.click()])
    #expect(decision.effects.draws.isEmpty == fits)
    #expect(BillingService.changesSharedRows(decision.effects) == !fits)
    #expect(decision.effects.journal.isEmpty == !fits)
    #expect(decision.effects.charges.map(\.fate) == [fits ? .charged : .drawing])
  }

  @Test("B1: a developer campaign's impression costs nothing and needs no budget")
  func developerImpression() throws {
    let samples = try Samples()
    var decider = samples.decider()
    let decision = decider.decide([samples.impression { $0.impressionPrice = .zero }])
    #expect(decision.effects.charges.map(\.fate) == [.charged])
    #expect(decision.effects.draws.isEmpty)
    #expect(decision.effects.journal.isEmpty)
    #expect(decision.effects.revenue.values.map(\.events) == [1])
  }

  @Test("M4, M5, M7: a click that is not billable is free, with its reason", arguments: ClickVerdict.allCases)
  func freeClicks(verdict: ClickVerdict) throws {
    let samples = try Samples()
    var decider = samples.decider(samples.allotment(amount: Samples.click2.value))
    let decision = decider.decide([samples.click(verdict)])
    let isBillable = verdict == .billable
    #expect(decision.effects.charges.map(\.fate) == [isBillable ? .charged : .free(verdict)])
    #expect(decision.outcomes == [isBillable ? .accepted : .free(verdict)])
    #expect(decision.effects.journal.isEmpty != isBillable)
  }

  @Test("I8: of test traffic the sequence is taken and nothing else is written")
  func testTraffic() throws {
    let samples = try Samples()
    var decider = samples.decider(samples.allotment(amount: Samples.click2.value * 2))
    let decision = decider.decide([
      samples.impression { $0.isTest = true }, samples.click(.billable) { $0.isTest = true },
    ])
    #expect(decision.outcomes == [.accepted, .accepted])
    #expect(decision.effects.charges.isEmpty && decision.effects.draws.isEmpty && decision.effects.revenue.isEmpty)
    #expect(decision.effects.allotmentCharges.isEmpty && decision.effects.journal.isEmpty)
  }

  @Test("I2: an event whose terms name another budget than its allotment's does not touch that allotment")
  func otherPlace() throws {
    let samples = try Samples()
    var decider = samples.decider(samples.allotment(amount: Samples.click2.value))
    let decision = decider.decide([samples.click(.billable) { $0.budgetDay += 1 }])
    #expect(decision.effects.allotmentCharges.isEmpty)
    #expect(decision.effects.draws.map(\.budget.day) == [Samples.day + 1])
  }

  @Test(
    "late only after the allotment's end",
    arguments: [
      // Granted as the fifth of ten and no longer kept: it has ended.
      (AllotmentID.make(partition: 3, sequence: 5), true),
      // The eleventh was never granted, nor was one to another partition, nor none at all.
      (AllotmentID.make(partition: 3, sequence: 10), false), (AllotmentID.make(partition: 4, sequence: 5), false),
      (0, false),
    ])
  func late(allotment: UInt64, isLate: Bool) throws {
    let samples = try Samples()
    var decider = samples.decider()
    let decision = decider.decide([samples.impression { $0.allotment = allotment }], nextGrant: 10)
    #expect(decision.effects.draws.map(\.isLate) == [isLate])
    // What a lost commit granted is kept nowhere, and has not ended.
    var restored = BillingDecider(
      settings: BillingSettings(), open: [], waiting: [], hours: StoredAppHours(now: Samples.now),
      lostGrants: [1..<3, 5..<6])
    let again = restored.decide([samples.impression { $0.allotment = allotment }], nextGrant: 10)
    #expect(again.effects.draws.map(\.isLate) == [false])
  }

  @Test("what the database refuses goes into suspense alone")
  func suspense() throws {
    let samples = try Samples()
    var decider = samples.decider(samples.allotment(amount: Samples.click2.value))
    let decision = decider.decide([samples.click()], refusal: "no table takes it")
    #expect(decision.outcomes == [.suspense])
    #expect(decision.effects.suspended.map(\.sequence) == [1])
    #expect(decision.effects.suspended.map(\.reason) == ["no table takes it"])
    #expect(decision.effects.charges.isEmpty && decision.effects.allotmentCharges.isEmpty)
  }
}

@Suite("The ledger's entries")
struct JournalTests {
  @Test(
    "B2, B3: the developer's part is rounded half up and the parts add up",
    arguments: [
      (Int64(10_000_000), UInt16(6_000), Int64(6_000_000)), (1, 5_000, 1), (1, 4_999, 0), (3, 5_000, 2),
      (2_000_000_001, 6_000, 1_200_000_001), (7, 0, 0), (7, 10_000, 7), (.max, 6_000, 5_534_023_222_112_865_484),
    ])
  func split(price: Int64, share: UInt16, developer: Int64) throws {
    let samples = try Samples()
    var decider = samples.decider(samples.allotment(amount: price))
    let decision = decider.decide([
      samples.impression {
        $0.impressionPrice = Nanos(price)
        $0.shareBasisPoints = share
      }
    ])
    let parts = try #require(decision.effects.charges.first?.parts)
    #expect(parts.developer == Nanos(developer))
    #expect(parts.developer.value + parts.network.value == price)
  }

  @Test("golden case: 9,300 impressions at 10 CPM and 1,097 clicks at 2.00 are 2,287.00, of which 60 % are 1,372.20")
  func golden() throws {
    let samples = try Samples()
    var decider = samples.decider(samples.allotment(amount: 2_287_000_000_000))
    let events =
      Array(repeating: samples.impression(), count: 9_300) + Array(repeating: samples.click(), count: 1_097)
    let effects = decider.decide(events).effects
    #expect(effects.draws.isEmpty)
    let gross = effects.revenue.values.reduce(Int128(0)) { $0 + $1.gross }
    let developer = effects.revenue.values.reduce(Int128(0)) { $0 + $1.developer }
    #expect(MoneyText.format(gross) == "2287.00")
    #expect(MoneyText.format(developer) == "1372.20")
    #expect(Hundredths.perThousand(revenue: developer, impressions: 9_300)?.description == "147.55")
    #expect(Hundredths.perThousand(revenue: gross, impressions: 9_300)?.description == "245.91")
    // To the nano: nothing is left of the allotment, and one click more finds nothing.
    #expect(decider.decide([samples.impression()]).effects.draws.count == 1)
  }

  @Test("I6: debits and credits agree after any sequence of charges", arguments: [UInt64(1), 2, 3, 4, 5])
  func balanced(seed: UInt64) throws {
    let samples = try Samples()
    var numbers = SeededChance(seed: seed)
    var decider = samples.decider(samples.allotment(amount: .max))
    let events = (0..<2_000).map { _ in
      let price = Int64.random(in: 0...3_000_000_001, using: &numbers)
      let share = UInt16.random(in: 0...10_000, using: &numbers)
      return samples.click(.billable) {
        $0.clickPrice = Nanos(price)
        $0.shareBasisPoints = share
      }
    }
    let entries = decider.decide(events).effects.journal.entries.values
    let debit = entries.reduce(Int128(0)) { $0 + $1.debit }
    #expect(debit > 0)
    #expect(debit == entries.reduce(Int128(0)) { $0 + $1.credit })
  }
}
