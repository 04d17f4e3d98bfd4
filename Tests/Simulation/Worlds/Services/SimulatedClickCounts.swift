import AdCore
import BillingCore

/// What one partition has seen and what was clicked there. No world has so much of it that counts would be halved.
struct SimulatedClickCounts {
  private var network = ClickCount()
  private var campaigns: [CampaignID: ClickCounts] = [:]

  mutating func add(_ counts: [BillingEffects.CountedAd: ClickCount]) {
    for (counted, count) in counts {
      Self.add(count, to: &network)
      Self.add(count, to: &campaigns[counted.campaign, default: ClickCounts()].campaign)
      Self.add(count, to: &campaigns[counted.campaign, default: ClickCounts()].ads[counted.ad, default: ClickCount()])
    }
  }

  func counts(of asked: Set<CampaignID>) -> [CampaignID: ClickCounts] {
    var answer: [CampaignID: ClickCounts] = [:]
    for id in asked {
      answer[id] = campaigns[id] ?? ClickCounts()
      answer[id]?.network = network
    }
    return answer
  }

  private static func add(_ count: ClickCount, to sum: inout ClickCount) {
    sum.clicks += count.clicks
    sum.impressions += count.impressions
  }
}
