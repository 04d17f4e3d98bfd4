/// A name that a person gives and machines keep: 1 to 40 of `a-z`, `0-9` and `-`, starting with a letter or a digit.
/// Apps, advertisers, developers, campaigns, ads and placements are known by one.
public struct Slug: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The longest slug, in bytes (and characters: all are ASCII).
  public static let bytesMaximum = 40

  public let text: String

  /// Nil unless `text` keeps the rules above.
  public init?(_ text: String) {
    guard Slug.isValid(text.utf8) else { return nil }
    self.text = text
  }

  /// The same from raw bytes; nil unless they keep the rules above.
  public init?(bytes: UnsafeRawBufferPointer) {
    guard Slug.isValid(bytes) else { return nil }
    text = String(decoding: bytes, as: UTF8.self)
  }

  public var description: String { text }
  public static func < (left: Slug, right: Slug) -> Bool { left.text < right.text }

  private static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
    guard (1...bytesMaximum).contains(bytes.count), bytes.first != UInt8(ascii: "-") else { return false }
    return bytes.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
      default: false
      }
    }
  }
}

/// What a slug names. The compiler keeps a campaign from being taken for an app.
public struct Identifier<Entity>: Hashable, Comparable, Sendable, CustomStringConvertible {
  public let slug: Slug

  public init(_ slug: Slug) { self.slug = slug }

  /// Nil unless `text` is a valid ``Slug``.
  public init?(_ text: String) {
    guard let slug = Slug(text) else { return nil }
    self.slug = slug
  }

  public var text: String { slug.text }
  public var description: String { slug.text }
  public static func < (left: Self, right: Self) -> Bool { left.slug < right.slug }
}

public enum AppEntity {}
public enum DeveloperEntity {}
public enum AdvertiserEntity {}
public enum CampaignEntity {}
public enum AdEntity {}
public enum PlacementEntity {}

public typealias AppID = Identifier<AppEntity>
public typealias DeveloperID = Identifier<DeveloperEntity>
public typealias AdvertiserID = Identifier<AdvertiserEntity>
public typealias CampaignID = Identifier<CampaignEntity>
public typealias AdID = Identifier<AdEntity>
/// A name the app gives to a banner or an interstitial (M6).
public typealias PlacementID = Identifier<PlacementEntity>
