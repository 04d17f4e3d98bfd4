import AdCore
import TestValues
import Testing

@testable import AdSelectionCore

extension Samples {
  /// A network whose campaigns, ads and apps have targets and exclusions at random.
  static func random(ads count: Int, using random: inout SeededChance) throws -> Samples {
    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    var samples = try Samples()
    samples.advertisers.append(samples.advertisers[0])
    samples.advertisers[1].id = try #require(AdvertiserID("globex"))
    for number in 0..<count {
      try samples.add(campaign: "campaign-\(number)", ad: "ad-\(number)", kind: chance(20) ? .developer : .brand)
      let last = samples.campaigns.count - 1
      samples.campaigns[last].advertiser = samples.advertisers[number % 2].id
      samples.campaigns[last].impressionPrice = Nanos(Int64.random(in: 1...5, using: &random) * 1_000_000)
      samples.campaigns[last].isPaused = chance(5)
      samples.ads[last].isPaused = chance(5)
      if chance(30) { samples.campaigns[last].targeting.countries = Set(["US", "JP"].compactMap(Country.init)) }
      if chance(30) { samples.campaigns[last].targeting.devices = [chance(50) ? .phone : .pad] }
      if chance(30) { samples.campaigns[last].targeting.sizes = [.phoneBannerPortrait, .padBannerPortrait] }
      if chance(50) { samples.campaigns[last].targeting.allowsUnder17 = true }
      if chance(30) { samples.campaigns[last].targeting.appCategories = [chance(50) ? "games" : "weather"] }
      if chance(30) { samples.campaigns[last].targeting.segments = [chance(50) ? "hikers" : "sailors"] }
      if chance(20) { samples.ads[last].images[.mediumRectangle] = "https://images.example/300x250.png" }
      if chance(30) { samples.ads[last].categories = ["dating"] }
      if chance(30) { samples.ads[last].keywords = ["poker"] }
      if chance(30) { samples.ads[last].action.destination = "https://www.globex.example/" }
    }
    let exclusions = [
      Exclusions(advertisers: [samples.advertisers[1].id]), Exclusions(categories: ["dating"], keywords: ["poker"]),
      Exclusions(hosts: ["globex.example"]),
    ]
    for (number, exclusion) in exclusions.enumerated() {
      var app = samples.apps[0]
      app.id = try #require(AppID("app-\(number)"))
      app.isUnder17 = number == 1
      app.exclusions = exclusion
      samples.apps.append(app)
    }
    return samples
  }
}
