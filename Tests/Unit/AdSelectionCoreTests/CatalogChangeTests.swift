import AdCore
import AdEvents
import Synchronization
import TestValues
import Testing

@testable import AdSelectionCore

@Suite("The moment of the catalogue")
struct CatalogChangeTests {
  private let now = Timestamp(milliseconds: 1_800_000_000_000)
  private let advertiser = Advertiser.sample()

  private func ads(_ numbers: ClosedRange<Int>, version: Int64, campaign: Campaign) -> [CatalogSource.Item] {
    numbers.map { number in
      .message(
        .record(.ad(.sample("ad-\(number)", of: campaign.id) { $0.keywords = ["v\(version)"] }), version: version))
    }
  }

  private func beat(_ records: Int64, _ sum: Int64, change: Int64) -> CatalogSource.Item {
    .message(.heartbeat(records: records, versionSum: sum, at: now, change: change))
  }

  private func change(_ source: CatalogSource) -> Int64? { source.view(at: now).snapshot.changeNumber }

  @Test("It is known by the heartbeat that agrees, until the next change; one that disagrees says nothing new")
  func known() {
    let source = CatalogSource()
    let campaign = Campaign.sample("summer", of: advertiser.id)
    source.apply([.message(.record(.advertiser(advertiser), version: 1)), beat(1, 1, change: 7)], now: now)
    #expect(change(source) == 7)
    source.apply([.message(.record(.campaign(campaign), version: 1))], now: now)
    #expect(change(source) == nil)
    source.apply([beat(1, 1, change: 7)], now: now)
    #expect(change(source) == nil)
    source.apply([beat(2, 2, change: 9)], now: now)
    #expect(change(source) == 9)
    // Another console, which has not seen the change.
    source.apply([beat(1, 1, change: 7)], now: now)
    #expect(change(source) == 9)
    // One of before, which tells no change.
    source.apply([beat(2, 2, change: 0)], now: now)
    #expect(change(source) == 9)
  }

  @Test("While versions before the newest are in force it is the catalogue of no moment")
  func held() {
    let jobs = JobList()
    let source = CatalogSource(recentMaximum: 4, perform: { jobs.add($0) })
    let campaign = Campaign.sample("summer", of: advertiser.id)
    let first: [CatalogSource.Item] = [
      .message(.record(.advertiser(advertiser), version: 1)), .message(.record(.campaign(campaign), version: 1)),
    ]
    source.apply(first + ads(1...9, version: 1, campaign: campaign) + [beat(11, 11, change: 11)], now: now)
    #expect(change(source) == 11)
    source.apply(ads(1...9, version: 2, campaign: campaign) + [beat(11, 20, change: 20)], now: now)
    #expect(change(source) == nil)
    jobs.run()
    #expect(change(source) == 20)
  }
}

/// Jobs that wait to be done.
private final class JobList: Sendable {
  private let jobs = Mutex<[@Sendable () -> Void]>([])

  func add(_ job: @escaping @Sendable () -> Void) { jobs.withLock { $0.append(job) } }

  func run() {
    let waiting = jobs.withLock { jobs in
      defer { jobs = [] }
      return jobs
    }
    for job in waiting { job() }
  }
}
