package import AdCore
internal import Crypto
package import JSON

extension CatalogJSON {
  /// A record with all its members, in the order of the declarations; equal records have equal texts.
  package static func value(of record: CatalogRecord) -> JSONValue {
    switch record {
    case .advertiser(let advertiser): value(of: advertiser)
    case .campaign(let campaign): value(of: campaign)
    case .ad(let ad): value(of: ad)
    case .developer(let developer): ["id": .text(developer.id.text), "name": .text(developer.name)]
    case .app(let app): value(of: app)
    case .appKey(let key):
      [
        "app": .text(key.app.text), "build": .text(key.build.name), "keyHash": .text(Hexadecimal.text(key.keyHash)),
        "isRevoked": .flag(key.isRevoked),
      ]
    case .settings(let settings):
      [
        "countries": sorted(settings.countries.map(\.description)),
        "testFillBasisPoints": .integer(Int64(settings.testFillBasisPoints)),
        "testErrorBasisPoints": .integer(Int64(settings.testErrorBasisPoints)),
        "standing": [
          "days": .integer(settings.standing.days), "priorTaps": .integer(settings.standing.priorTaps),
          "toleratedBasisPoints": .integer(settings.standing.toleratedBasisPoints),
          "floorBasisPoints": .integer(settings.standing.floorBasisPoints),
        ],
        "currencyRates": .object(
          settings.currencyRates.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key.text, .integer($0.value)) }),
      ]
    case .standing(let standing):
      [
        "app": .text(standing.app.text), "offerPartsPerMillion": .integer(standing.offerPartsPerMillion),
        "stopped": .integer(standing.stopped), "tapped": .integer(standing.tapped),
      ]
    }
  }

  private static func value(of advertiser: Advertiser) -> JSONValue {
    [
      "id": .text(advertiser.id.text), "name": .text(advertiser.name), "currency": .text(advertiser.currency.text),
      "timeZone": .text(advertiser.timeZone), "accountFunding": .text(MoneyText.format(advertiser.accountFunding)),
    ]
  }

  private static func value(of campaign: Campaign) -> JSONValue {
    let targeting = campaign.targeting
    return [
      "id": .text(campaign.id.text), "advertiser": .text(campaign.advertiser.text), "name": .text(campaign.name),
      "kind": .text(campaign.kind.catalogName),
      "cpm": .text(MoneyText.format(Int128(campaign.impressionPrice.value) * 1_000)),
      "clickPrice": .text(MoneyText.format(campaign.clickPrice)),
      "totalBudget": .text(MoneyText.format(campaign.totalBudget)),
      "dailyBudget": .optional(campaign.dailyBudget.map(MoneyText.format)),
      "flightStart": .text(campaign.flightStart.utcText), "flightEnd": .text(campaign.flightEnd.utcText),
      "isPaused": .flag(campaign.isPaused),
      "targeting": [
        "countries": sorted(targeting.countries.map(\.description)),
        "devices": sorted(targeting.devices.map(\.name)), "sizes": sorted(targeting.sizes.map(\.name)),
        "allowsUnder17": .flag(targeting.allowsUnder17), "appCategories": sorted(targeting.appCategories),
        "segments": sorted(targeting.segments),
      ],
    ]
  }

  private static func value(of ad: Ad) -> JSONValue {
    let images = ad.images.sorted { $0.key.rawValue < $1.key.rawValue }
    return [
      "id": .text(ad.id.text), "campaign": .text(ad.campaign.text),
      "images": .object(images.map { JSONValue.Member($0.key.name, .text($0.value)) }),
      "action": ["kind": .text(ad.action.kind.name), "destination": .text(ad.action.destination)],
      "lifetimeMilliseconds": .integer(ad.lifetimeMilliseconds), "categories": sorted(ad.categories),
      "keywords": sorted(ad.keywords), "isPaused": .flag(ad.isPaused),
    ]
  }

  private static func value(of app: App) -> JSONValue {
    [
      "id": .text(app.id.text), "developer": .text(app.developer.text), "name": .text(app.name),
      "bundleID": .text(app.bundleID), "isAgreementSigned": .flag(app.isAgreementSigned),
      "isUnder17": app.isUnder17.map { .flag($0) } ?? .null, "areAdsEnabled": .flag(app.areAdsEnabled),
      "categories": sorted(app.categories), "shareBasisPoints": .integer(Int64(app.shareBasisPoints)),
      "exclusions": [
        "advertisers": sorted(app.exclusions.advertisers.map(\.text)),
        "categories": sorted(app.exclusions.categories), "keywords": sorted(app.exclusions.keywords),
        "hosts": sorted(app.exclusions.hosts),
      ],
    ]
  }

  private static func sorted(_ texts: some Sequence<String>) -> JSONValue { .texts(texts.sorted()) }
}
