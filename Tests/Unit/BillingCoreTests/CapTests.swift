import AdCore
import AdEvents
import BillingCore
import Pipeline
import TestValues
import Testing

@Suite("B8: what of an app's hour is billed before a person has looked at it")
struct CapTests {
  private let hour = Int32(Samples.now.milliseconds / 3_600_000)

  private func decider(
    hours: [AppHour: AppHourCount] = [:], _ change: (inout TrafficCaps) -> Void
  ) throws -> CappedPartition {
    var settings = BillingSettings()
    change(&settings.caps)
    return CappedPartition(
      settings: settings, allotment: try Samples().allotment(amount: 1_000 * Samples.click2.value), hours: hours)
  }

  @Test("each partition bills its part of the impressions of an app's hour, rounded up, and holds what is beyond")
  func impressions() throws {
    let samples = try Samples()
    // The sample's network has 8 partitions.
    var decider = try decider { $0.impressionsPerHour = 24 }
    let decision = decider.decide(Array(repeating: samples.impression(), count: 5))
    #expect(decision.outcomes == Array(repeating: .accepted, count: 3) + [.held, .held])
    #expect(decision.effects.charges.count == 3)
    #expect(decision.effects.held.map(\.reason) == [.impressions, .impressions])
    #expect(decision.effects.allotmentCharges.mapValues(\.amount).values.reduce(0, +) == 3 * Samples.cpm10.value)
    let app = samples.terms.app
    #expect(decision.effects.appHours == [AppHour(app: app, hour: hour): AppHourCount(impressions: 5)])
    // Of other apps and hours as many as ever.
    let others = decider.decide([
      samples.impression { $0.app = AppID("another") ?? $0.app },
      samples.impression {
        $0.serveID = UUIDv7(timestamp: Samples.now.advanced(byMilliseconds: 3_600_000), randomHigh: 0, randomLow: 1)
      },
    ])
    #expect(others.outcomes == [.accepted, .accepted])
  }

  @Test("a partition's next owner goes on from what is stored")
  func restored() throws {
    let samples = try Samples()
    let key = AppHour(app: samples.terms.app, hour: hour)
    var decider = try decider(hours: [key: AppHourCount(impressions: 2)]) { $0.impressionsPerHour = 24 }
    #expect(decider.decide([samples.impression(), samples.impression()]).outcomes == [.accepted, .held])
  }

  @Test("Events of ads whose decision is lost are held, whatever the caps say, and nobody pays before a person decides")
  func decisionLost() throws {
    let samples = try Samples()
    let id = samples.terms.serveID
    func decider(_ lost: Range<ServeID>...) -> BillingDecider {
      BillingDecider(
        settings: BillingSettings(), open: [samples.allotment(amount: 1_000 * Samples.click2.value)], waiting: [],
        hours: StoredAppHours(now: Samples.now), lostServes: lost)
    }
    let next = ServeID(asWritten: id.high, low: id.low + 1)
    var inside = decider(id..<next)
    let decision = inside.decide([
      samples.impression(), samples.click(), samples.click(.repeat), samples.impression { $0.isTest = true },
    ])
    #expect(decision.outcomes == [.held, .held, .free(.repeat), .accepted])
    #expect(decision.effects.held.map(\.reason) == [.decisionLost, .decisionLost])
    #expect(decision.effects.journal.isEmpty)
    var outside = decider(next..<ServeID(asWritten: .max, low: 0), ServeID(asWritten: 0, low: 0)..<id)
    #expect(outside.decide([samples.impression(), samples.click()]).outcomes == [.accepted, .accepted])
  }

  @Test("clicks on one ad have a cap of their own, and so have clicks for their impressions")
  func clicks() throws {
    let samples = try Samples()
    var ofAd = try decider { $0.clicksOfAdPerHour = 16 }
    let other = samples.click { $0.ad = AdID("another") ?? $0.ad }
    let byAd = ofAd.decide([samples.click(), samples.click(), samples.click(), other])
    #expect(byAd.outcomes == [.accepted, .accepted, .held, .accepted])
    #expect(byAd.effects.held.map(\.reason) == [.clicksOfAd])

    var ofRate = try decider { ($0.clicksBeforeRate, $0.clickRateBasisPoints) = (4, 5_000) }
    let first = ofRate.decide([samples.click(), samples.click()])
    #expect(first.outcomes == [.accepted, .held])
    #expect(first.effects.held.map(\.reason) == [.clickRate])
    // Six impressions make three clicks likely; two have come.
    let later = ofRate.decide(Array(repeating: samples.impression(), count: 6) + [samples.click(), samples.click()])
    #expect(later.outcomes.suffix(2) == [.accepted, .held])
  }

  @Test(
    "clicks that are read long before the hour's impressions, as after an outage, are held for no rate",
    arguments: [(15_000, false), (15_001, true), (3_600_000, true)])
  func clicksBeforeTheirImpressions(lag: Int64, areBilled: Bool) throws {
    let samples = try Samples()
    var decider = try decider { ($0.clicksBeforeRate, $0.clickRateBasisPoints) = (8, 5_000) }
    let behind = Samples.now.advanced(byMilliseconds: -lag)
    let clicks = decider.decide(
      Array(repeating: samples.click(), count: 4), watermarks: (impressions: behind, clicks: Samples.now))
    #expect(clicks.outcomes == [.accepted] + Array(repeating: areBilled ? .accepted : .held, count: 3))
    // They count all the same: with the impressions come, one too many is one too many.
    let impressions = decider.decide(
      Array(repeating: samples.impression(), count: 10), watermarks: (impressions: behind, clicks: Samples.now))
    #expect(impressions.outcomes == Array(repeating: .accepted, count: 10))
    #expect(decider.decide([samples.click(), samples.click()]).outcomes == [.accepted, .held])
  }

  @Test("the cap of clicks on one ad needs no impressions, and holds however far those lie behind")
  func clicksOfAdBeforeImpressions() throws {
    let samples = try Samples()
    var decider = try decider { $0.clicksOfAdPerHour = 16 }
    let long = (impressions: Timestamp(milliseconds: 0), clicks: Samples.now)
    let outcomes = decider.decide(Array(repeating: samples.click(), count: 3), watermarks: long).outcomes
    #expect(outcomes == [.accepted, .accepted, .held])
  }

  @Test("an event that is told late counts in the hour in which its ad was served, not in that of its arrival")
  func toldLate() throws {
    let samples = try Samples()
    var decider = try decider { $0.impressionsPerHour = 8 }
    // An outage of an edge: ads of four hours are told of at once.
    let told = (0..<4).map { hours in
      samples.impression {
        $0.serveID = UUIDv7(
          timestamp: Samples.now.advanced(byMilliseconds: Int64(hours) * -3_600_000), randomHigh: 0, randomLow: 1)
      }
    }
    #expect(decider.decide(told).outcomes == Array(repeating: .accepted, count: 4))
    #expect(decider.decide(told).outcomes == Array(repeating: .held, count: 4))
  }

  @Test("what costs nothing, is free or is test traffic is never held, and what is held counts in no click rate")
  func notHeld() throws {
    let samples = try Samples()
    var decider = try decider { ($0.impressionsPerHour, $0.clicksOfAdPerHour) = (0, 0) }
    let decision = decider.decide([
      samples.impression { $0.impressionPrice = .zero }, samples.click(.repeat),
      samples.impression { $0.isTest = true },
      samples.impression(), samples.click(),
    ])
    #expect(decision.outcomes == [.accepted, .free(.repeat), .accepted, .held, .held])
    #expect(decision.effects.clickCounts.values.map(\.clicks).reduce(0, +) == 0)
    #expect(decision.effects.journal.isEmpty)
  }
}
