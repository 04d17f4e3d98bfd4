internal import Hashes

extension CatalogRecord {
  /// The record's key on the compacted topic: its kind and its name, as in `campaign/acme-summer`. An app's key adds its
  /// hash, since an app may have several of one build while they are changed.
  public var key: String {
    switch self {
    case .advertiser(let advertiser): "advertiser/\(advertiser.id)"
    case .campaign(let campaign): "campaign/\(campaign.id)"
    case .ad(let ad): "ad/\(ad.id)"
    case .developer(let developer): "developer/\(developer.id)"
    case .app(let app): "app/\(app.id)"
    case .appKey(let key): "app-key/\(key.app)/\(key.build.name)/\(Hexadecimal.text(key.keyHash.prefix(8)))"
    case .settings: "settings"
    case .standing(let standing): "standing/\(standing.app)"
    }
  }
}

extension BuildKind {
  /// The name in keys, commands and files.
  public var name: String {
    switch self {
    case .developer: "developer"
    case .adHoc: "ad-hoc"
    case .distribution: "distribution"
    }
  }

  /// Nil for any other text than a ``name``.
  public init?(name: String) {
    guard let kind = BuildKind.allCases.first(where: { $0.name == name }) else { return nil }
    self = kind
  }
}
