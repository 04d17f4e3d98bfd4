import AdCore
import AdEvents
import Foundation
import Kafka
import Records
import TestValues

/// What devices would send: impressions of ads that were served, with genuine tokens. Seeded.
struct Workload {
  let partitions: Int32
  let ring: KeyRing
  private let issuer: ServeTokenIssuer
  private let hasher: ClientHasher
  private var random: SeededChance

  init(partitions: Int32, ring: KeyRing, seed: UInt64) throws {
    self.partitions = partitions
    self.ring = ring
    issuer = try ServeTokenIssuer(ring: ring)
    hasher = try ClientHasher(ring: ring)
    random = SeededChance(seed: seed)
  }

  /// Terms as ad selection would freeze them: 20 apps, 50 campaigns, 5 countries.
  mutating func terms(issuedAt: Timestamp) -> ServedTerms? {
    let number = random.next()
    let campaign = number % 50
    guard let app = AppID("app-\(number >> 8 & 15)"), let developer = DeveloperID("dev-\(number >> 8 & 3)"),
      let advertiser = AdvertiserID("adv-\(campaign % 10)"), let campaignID = CampaignID("camp-\(campaign)"),
      let ad = AdID("ad-\(campaign)-\(number >> 16 & 1)"),
      let country = Country(["US", "FR", "JP", "DE", "GB"][Int(truncatingIfNeeded: number >> 20 & 0xFFFF) % 5])
    else { return nil }
    return .sample(partition: Int32(number >> 40 & 0xFFFF) % partitions, issuedAt: issuedAt) { terms in
      terms.serveID = ServeID(timestamp: issuedAt, randomHigh: random.next(), randomLow: random.next())
      (terms.app, terms.developer, terms.advertiser) = (app, developer, advertiser)
      (terms.campaign, terms.ad, terms.country) = (campaignID, ad, country)
      terms.device = number >> 24 & 1 == 0 ? .phone : .pad
      (terms.allotment, terms.budgetDay) = (1, 20_000)
      terms.clientHash = hasher.hash(
        app: app, clientID: Self.client(of: terms.serveID), sessionID: "", now: issuedAt)
    }
  }

  /// Whoever got the ad: the key of its events.
  static func client(of serve: ServeID) -> String { serve.description }

  func token(_ terms: ServedTerms) -> [UInt8] { issuer.issue(terms) }

  /// The event that an ad was viewed, 1 s after the answer.
  static func viewed(_ token: [UInt8]) -> [UInt8] {
    ImpressionEvent(
      kind: .viewed, subject: .serve(token: token), age: .milliseconds(1_000), error: nil,
      identity: EventIdentity(idHash: 0, time: nil)
    ).encoded()
  }

  static func headers(_ type: EventType, id: UUIDv7) -> [RecordHeader] {
    [
      RecordHeader("content-type", "application/protobuf"), RecordHeader("ce_specversion", "1.0"),
      RecordHeader("ce_type", "\(type.name)"), RecordHeader("ce_source", "/benchmark"),
      RecordHeader("ce_id", id.description),
    ]
  }
}
