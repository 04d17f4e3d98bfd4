/// A name that a person gives and machines keep: 1 to 40 of `a-z`, `0-9` and `-`, starting with a letter or a digit.
/// Apps, advertisers, developers, campaigns, ads and placements are known by one.
public struct Slug: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The longest slug, in bytes (and characters: all are ASCII).
  public static let bytesMaximum = 40

  /// A regular expression for all of it.
  public static let pattern = "^[a-z0-9][a-z0-9-]{0,\(bytesMaximum - 1)}$"

  /// The bytes in their order, padded with zeros. No memory of its own: terms with six slugs are copied as they lie,
  /// without an allocation or a reference count.
  @usableFromInline
  var words: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)

  /// Nil unless `text` keeps the rules above.
  public init?(_ text: String) {
    var text = text
    guard let slug = text.withUTF8({ Slug(bytes: UnsafeRawBufferPointer($0)) }) else { return nil }
    self = slug
  }

  /// The same from raw bytes; nil unless they keep the rules above.
  public init?(bytes: UnsafeRawBufferPointer) {
    guard Slug.isValid(bytes) else { return nil }
    withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: bytes) }
  }

  public var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }
  public var description: String { text }

  public static func == (left: Slug, right: Slug) -> Bool { left.words == right.words }

  public static func < (left: Slug, right: Slug) -> Bool { left.ordered < right.ordered }

  /// The words as numbers whose order is that of the texts.
  private var ordered: (UInt64, UInt64, UInt64, UInt64, UInt64) {
    (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian, words.4.bigEndian)
  }

  public func hash(into hasher: inout Hasher) {
    // Most slugs are short: the words that are zero need not be hashed.
    hasher.combine(words.0)
    if words.1 != 0 { hasher.combine(words.1) }
    if words.2 != 0 {
      withUnsafeBytes(of: words) { hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0[16...])) }
    }
  }

  private static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard (1...bytesMaximum).contains(bytes.count), bytes[0] != UInt8(ascii: "-") else { return false }
    return bytes.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
      default: false
      }
    }
  }
}

extension Slug: InlineText {
  @inlinable
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withUnsafeBytes(of: words) { words in
      body(UnsafeRawBufferPointer(rebasing: words[..<(words.firstIndex(of: 0) ?? words.count)]))
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

extension Identifier: InlineText {
  @inlinable
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { slug.withBytes(body) }
}

/// A short ASCII text that lies in the value itself: writing it takes no string.
public protocol InlineText {
  /// Nil for what is no such text.
  init?(_ text: String)

  /// Calls `body` with the bytes of the text, valid only there.
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result
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
