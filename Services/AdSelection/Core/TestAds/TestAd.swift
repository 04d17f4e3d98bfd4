package import AdCore
internal import Pictures

/// An ad of the built-in test campaign. It has an image for every size, costs nothing and belongs to nobody who pays.
package struct TestAd: Hashable, Sendable {
  package let id: AdID
  /// Whose it is: names that no paying advertiser has, and ISO 4217's currency for tests.
  package let advertiser: AdvertiserID
  package let campaign: CampaignID
  package let currency: Currency
  package let action: AdAction
  /// 5 to 15 minutes (D5); the shorter and the longer life are both to be met in a test.
  package let lifetimeMilliseconds: Int64

  /// The test ads: one whose action covers, one whose action leaves (D11).
  package static let all: [TestAd] = [
    TestAd("handbill-test-cover", .cover, "https://handbill.example/test/", lifetimeMinutes: 5),
    TestAd("handbill-test-leave", .leave, "https://handbill.example/test/store/", lifetimeMinutes: 15),
  ].compactMap(\.self)

  private init?(_ name: String, _ kind: AdAction.Kind, _ destination: String, lifetimeMinutes: Int64) {
    guard let id = AdID(name), let advertiser = AdvertiserID("handbill-test"),
      let campaign = CampaignID("handbill-test"), let currency = Currency("XTS")
    else { return nil }
    self.id = id
    self.advertiser = advertiser
    self.campaign = campaign
    self.currency = currency
    action = AdAction(kind: kind, destination: destination)
    lifetimeMilliseconds = lifetimeMinutes * 60_000
  }

  /// Where the image for `size` lies, at every edge.
  package func image(for size: AdSize) -> String { Self.images[id]?[size] ?? "" }

  private static let images = Dictionary(
    uniqueKeysWithValues: TestAd.all.map { ($0.id, SamplePicture.images(of: $0.id.text)) })
}
