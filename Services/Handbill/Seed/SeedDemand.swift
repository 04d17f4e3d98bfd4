internal import AdCore
internal import Pictures

/// Who pays in the seed network, for what, and with which ads.
extension SeedNetwork {
  private static let unit: Int128 = 1_000_000_000

  var advertisers: [Advertiser] {
    let lines = [
      ("nordsee", "Nordsee Ferries", "Europe/Berlin", 20_000), ("blue-bank", "Blue Bank", "Europe/London", 50_000),
      ("trail-shoes", "Trail Shoes", "America/New_York", 8_000), ("quiet-fox-ads", "Quiet Fox Games", "UTC", 2_000),
      ("house", "The network itself", "UTC", 0),
    ]
    return lines.compactMap { id, name, zone, funding in
      guard let id = AdvertiserID(id), let currency = Currency("USD") else { return nil }
      return Advertiser(
        id: id, name: name, currency: currency, timeZone: zone, accountFunding: Int128(funding) * Self.unit)
    }
  }

  private struct Line {
    let id: String
    let advertiser: String
    let name: String
    let kind: Campaign.Kind
    /// Nanos for one impression: the price of a thousand in millionths of a unit.
    var impression: Int64 = 0
    /// Nanos for one click.
    var click: Int64 = 0
    /// Units.
    let budget: Int
    var daily: Int?
    var targeting = Targeting()
    let categories: Set<String>
  }

  private static func countries(_ codes: String...) -> Set<Country> { Set(codes.compactMap(Country.init(_:))) }

  private static let lines = [
    Line(
      id: "ferry-summer", advertiser: "nordsee", name: "Ferries in summer", kind: .brand, impression: 10_000_000,
      click: 2_000_000_000, budget: 6_000, daily: 2_000,
      targeting: Targeting(countries: countries("DE", "GB"), allowsUnder17: true), categories: ["travel"]),
    Line(
      id: "ferry-winter", advertiser: "nordsee", name: "Islands in winter", kind: .brand, impression: 6_000_000,
      click: 1_000_000_000, budget: 4_000, targeting: Targeting(countries: countries("DE", "FR"), devices: [.pad]),
      categories: ["travel"]),
    Line(
      id: "blue-account", advertiser: "blue-bank", name: "An account in blue", kind: .brand, impression: 15_000_000,
      click: 2_500_000_000, budget: 20_000, daily: 5_000, targeting: Targeting(countries: countries("GB", "FR")),
      categories: ["finance"]),
    Line(
      id: "blue-card", advertiser: "blue-bank", name: "A card in blue", kind: .brand, impression: 12_000_000,
      budget: 5_000, targeting: Targeting(appCategories: ["news", "food"]), categories: ["finance"]),
    Line(
      id: "trail-launch", advertiser: "trail-shoes", name: "Shoes for rain", kind: .brand, impression: 8_000_000,
      click: 1_500_000_000, budget: 3_000, targeting: Targeting(countries: countries("US")), categories: ["sports"]),
    // So small that a demo sees it end (B4).
    Line(
      id: "trail-flash", advertiser: "trail-shoes", name: "One hour of shoes", kind: .brand, impression: 30_000_000,
      click: 500_000_000, budget: 10, targeting: Targeting(countries: countries("US", "DE"), allowsUnder17: true),
      categories: ["sports"]),
    Line(
      id: "chess-install", advertiser: "quiet-fox-ads", name: "Get Chess for Evenings", kind: .developer,
      click: 2_500_000_000, budget: 500,
      targeting: Targeting(allowsUnder17: true, appCategories: ["books", "food", "games"]), categories: ["games"]),
    Line(
      id: "puzzle-install", advertiser: "quiet-fox-ads", name: "Get Puzzle Farm", kind: .developer,
      click: 400_000_000, budget: 500, daily: 100,
      targeting: Targeting(allowsUnder17: true, appCategories: ["games", "books", "weather"]), categories: ["games"]),
    Line(
      id: "house-note", advertiser: "house", name: "Advertise here", kind: .house, budget: 0,
      targeting: Targeting(countries: countries("FR"), allowsUnder17: true), categories: ["network"]),
  ]

  var campaigns: [Campaign] {
    Self.lines.compactMap { line in
      guard let id = CampaignID(line.id), let advertiser = AdvertiserID(line.advertiser) else { return nil }
      return Campaign(
        id: id, advertiser: advertiser, name: line.name, kind: line.kind, impressionPrice: Nanos(line.impression),
        clickPrice: Nanos(line.click), totalBudget: Int128(line.budget) * Self.unit,
        dailyBudget: line.daily.map { Int128($0) * Self.unit }, flightStart: flightStart,
        flightEnd: flightStart.advanced(byMilliseconds: 366 * 86_400_000), isPaused: false, targeting: line.targeting)
    }
  }

  /// Two ads for each campaign, each with an image for every size (S4).
  var ads: [Ad] {
    Self.lines.flatMap { line in
      ["one", "two"].compactMap { which in
        guard let id = AdID("\(line.id)-\(which)"), let campaign = CampaignID(line.id) else { return nil }
        let site = "https://ads.example/\(line.id)/\(which)"
        let action =
          line.kind == .developer
          ? AdAction(kind: .leave, destination: StoreLink.destination(of: line.id))
          : AdAction(kind: .cover, destination: "\(site)/index.html")
        return Ad(
          id: id, campaign: campaign, images: SamplePicture.images(of: id.text), action: action,
          lifetimeMilliseconds: 600_000, categories: line.categories)
      }
    }
  }
}
