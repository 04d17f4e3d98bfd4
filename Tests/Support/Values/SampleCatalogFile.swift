/// A catalogue file: one brand campaign with more money than a test spends, at 10.00 per thousand and 2.00 per click, with
/// one ad, and one app with the key of its distribution build.
package func sampleCatalogFile(app: String, key: String) -> String {
  """
  {
    "settings": { "countries": ["US"] },
    "advertisers": [
      { "id": "acme", "name": "Acme", "currency": "USD", "timeZone": "UTC", "accountFunding": "1000000000.00" }
    ],
    "campaigns": [
      { "id": "launch", "advertiser": "acme", "name": "Launch", "kind": "brand", "cpm": "10.00", "clickPrice": "2.00",
        "totalBudget": "1000000000.00", "flightStart": "2020-01-01T00:00:00Z",
        "flightEnd": "2100-01-01T00:00:00Z" }
    ],
    "ads": [
      { "id": "launch-1", "campaign": "launch", "action": { "kind": "cover", "destination": "https://acme.example/" },
        "images": { "320x50": "https://acme.example/p.png", "480x32": "https://acme.example/l.png" } }
    ],
    "developers": [ { "id": "yardley", "name": "Yardley" } ],
    "apps": [
      { "id": "\(app)", "developer": "yardley", "name": "\(app)", "bundleID": "com.example.\(app)",
        "isAgreementSigned": true, "isUnder17": false, "areAdsEnabled": true }
    ],
    "appKeys": [ { "app": "\(app)", "build": "distribution", "key": "\(key)" } ]
  }
  """
}
