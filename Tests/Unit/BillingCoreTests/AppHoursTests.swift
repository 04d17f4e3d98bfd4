import AdCore
import AdEvents
import BillingCore
import TestValues
import Testing

@testable import Pipeline

@Suite("B8: what billing remembers of apps' hours")
struct AppHoursTests {
  private static let hourMilliseconds: Int64 = 3_600_000

  private func event(
    _ samples: Samples, of ad: Int, hoursAgo: Int64, isClick: Bool, now: Timestamp = Samples.now
  ) -> BillingInput {
    let change: (inout ServedTerms) -> Void = { terms in
      let served = now.advanced(byMilliseconds: -hoursAgo * Self.hourMilliseconds)
      terms.serveID = UUIDv7(timestamp: served, randomHigh: 0, randomLow: UInt64(ad))
      terms.ad = AdID("ad-\(ad)") ?? terms.ad
    }
    return isClick ? samples.click(.billable, change) : samples.impression(change)
  }

  private func partition(_ memory: BillingMemory, now: Timestamp = Samples.now) throws -> CappedPartition {
    var settings = BillingSettings()
    // The sample's network has 8 partitions.
    (settings.caps.impressionsPerHour, settings.caps.clicksOfAdPerHour) = (80, 16)
    (settings.caps.clicksBeforeRate, settings.caps.clickRateBasisPoints) = (64, 9_000)
    return CappedPartition(
      settings: settings, allotment: try Samples().allotment(amount: 100_000 * Samples.click2.value), memory: memory,
      now: now)
  }

  @Test("whatever is remembered, and whoever owns the partition, the same events are held", arguments: 1...20)
  func sameWhateverIsRemembered(seed: UInt64) throws {
    let samples = try Samples()
    var random = SeededChance(seed: seed)
    let few = BillingMemory(appHoursMaximum: Int.random(in: 1...8, using: &random))
    var now = Samples.now
    var (all, some) = (try partition(BillingMemory(), now: now), try partition(few, now: now))
    var held = 0
    for _ in 0..<150 {
      now = now.advanced(byMilliseconds: Int64.random(in: 0...900_000, using: &random))
      let events = (0..<Int.random(in: 1...12, using: &random)).map { _ in
        event(
          samples, of: Int.random(in: 0..<4, using: &random), hoursAgo: Int64.random(in: -1...4, using: &random),
          isClick: Bool.random(using: &random), now: now)
      }
      let expected = all.decide(events, now: now)
      let found = some.decide(events, now: now)
      #expect(found.outcomes == expected.outcomes)
      #expect(found.effects.held.map(\.reason) == expected.effects.held.map(\.reason))
      #expect(some.hours == all.hours)
      #expect(few.appHours.held <= few.appHours.maximum)
      held += expected.effects.held.count
      if Int.random(in: 0..<5, using: &random) == 0 { some.takeOver(now: now) }
    }
    #expect(held > 10 && some.asked.reduce(0, +) > all.asked.reduce(0, +))
  }

  @Test("of an hour that is over the table is asked; of this one and the last nothing is, and nothing is forgotten")
  func asked() throws {
    let samples = try Samples()
    var partition = try partition(BillingMemory())
    let events = (0..<4).map { event(samples, of: 1, hoursAgo: $0, isClick: true) }
    // The app's and the ad's.
    for _ in 0..<2 { #expect(partition.decide(events).outcomes == Array(repeating: .accepted, count: 4)) }
    #expect(partition.asked == [4, 4])
    #expect(partition.decide(events).outcomes == Array(repeating: .held, count: 4))
    #expect(partition.decide(Array(events.prefix(2))).outcomes == [.held, .held])
    #expect(partition.asked == [4, 4, 4, 0])
  }

  @Test("Clicks on as many ads as there are take no more memory than all partitions of a process may")
  func manyAds() throws {
    let samples = try Samples()
    let memory = BillingMemory(appHoursMaximum: 100)
    var partitions = try (0..<4).map { _ in try partition(memory) }
    for batch in 0..<40 {
      let ads = (0..<20).map { event(samples, of: 20 * batch + $0, hoursAgo: Int64($0 % 2), isClick: true) }
      for index in partitions.indices { #expect(partitions[index].decide(ads).effects.appHours.count == 22) }
      #expect(memory.appHours.held <= 100)
    }
    // What is remembered no more is asked for, and what is there counts.
    let again = (0..<4).map { _ in event(samples, of: 2, hoursAgo: 0, isClick: true) }
    #expect(partitions[0].decide(again).effects.held.map(\.reason).contains(.clicksOfAd))
    #expect(partitions[0].asked.last == 2)
    // The next hour is remembered again.
    let next = Samples.now.advanced(byMilliseconds: Self.hourMilliseconds)
    let later = [event(samples, of: 1, hoursAgo: 0, isClick: true, now: next)]
    _ = partitions[0].decide(later, now: next)
    _ = partitions[0].decide(later, now: next)
    #expect(partitions[0].asked.suffix(2) == [0, 0])
    partitions = []
    #expect(memory.appHours.held == 0)
  }

  @Test("Where the last hours have more than is read, the earliest that was read in part is asked for")
  func readInPart() throws {
    let samples = try Samples()
    let hour = Int32(Samples.now.milliseconds / Self.hourMilliseconds)
    let app = samples.terms.app
    func rows(_ count: Int, _ hour: Int32) -> [(key: AppHour, count: AppHourCount)] {
      (0..<count).map { (AppHour(app: app, hour: hour, ad: AdID("ad-\($0)")), AppHourCount(clicks: 1)) }
    }
    let most = StoredAppHours.readMaximum
    let whole = StoredAppHours(rows(most - 5, hour) + rows(5, hour - 1), now: Samples.now)
    #expect(whole.completeFrom == hour - 1 && whole.counts.count == most)
    let part = StoredAppHours(rows(most - 5, hour) + rows(6, hour - 1), now: Samples.now)
    #expect(part.completeFrom == hour && part.counts.count == most - 5)
    let none = StoredAppHours(rows(most + 1, hour), now: Samples.now)
    #expect(none.completeFrom == hour + 1 && none.counts.isEmpty)
  }
}
