import AdCore
import AdEvents
import Foundation
import Kafka

/// What devices would send: impressions of ads that were served, with genuine tokens. Seeded.
struct Workload {
  let partitions: Int32
  let ring: KeyRing
  private let signer: ServeTokenSigner
  private var random: SplitMix

  init(partitions: Int32, ring: KeyRing, seed: UInt64) throws {
    self.partitions = partitions
    self.ring = ring
    signer = try ServeTokenSigner(ring: ring)
    random = SplitMix(state: seed)
  }

  /// Terms as ad selection would freeze them: 20 apps, 50 campaigns, 5 countries.
  mutating func terms(issuedAt: Timestamp) -> ServedTerms? {
    let number = random.next()
    let campaign = number % 50
    guard let app = AppID("app-\(number >> 8 & 15)"), let developer = DeveloperID("dev-\(number >> 8 & 3)"),
      let advertiser = AdvertiserID("adv-\(campaign % 10)"), let campaignID = CampaignID("camp-\(campaign)"),
      let ad = AdID("ad-\(campaign)-\(number >> 16 & 1)"), let placement = PlacementID("home"),
      let country = Country(["US", "FR", "JP", "DE", "GB"][Int(truncatingIfNeeded: number >> 20 & 0xFFFF) % 5]),
      let currency = Currency("USD")
    else { return nil }
    return ServedTerms(
      serveID: ServeID(timestamp: issuedAt, randomHigh: random.next(), randomLow: random.next()),
      partition: Int32(number >> 40 & 0xFFFF) % partitions, issuedAt: issuedAt,
      expiresAt: issuedAt.advanced(byMilliseconds: 15 * 60_000), app: app, developer: developer,
      advertiser: advertiser, campaign: campaignID, ad: ad, placement: placement, country: country,
      device: number >> 24 & 1 == 0 ? .phone : .pad, size: .phoneBannerPortrait, impressionPrice: Nanos(10_000_000),
      clickPrice: Nanos(2_000_000_000), currency: currency, shareBasisPoints: 6_000, allotment: 1, budgetDay: 20_000,
      clientHash: random.next(), isTest: false)
  }

  func token(_ terms: ServedTerms) -> [UInt8] { signer.sign(terms) }

  /// The event that an ad was viewed, 1 s after the answer.
  static func viewed(_ token: [UInt8]) -> [UInt8] {
    ImpressionEvent(
      kind: .viewed, subject: .serve(token: token), age: .milliseconds(1_000), error: nil,
      identity: EventIdentity(idHash: 0, time: nil)
    ).encoded()
  }

  static func headers(_ type: EventType, id: UUIDv7) -> [KafkaHeader] {
    [
      KafkaHeader("content-type", "application/protobuf"), KafkaHeader("ce_specversion", "1.0"),
      KafkaHeader("ce_type", "\(type.name)"), KafkaHeader("ce_source", "/benchmark"),
      KafkaHeader("ce_id", id.description),
    ]
  }
}

/// A small seeded generator (SplitMix64).
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
