/// The concrete sizes of ads, in points. An app names a size by identifier, never by frame (S3); this is what an
/// identifier resolves to on a device. Adding a size is a case and its line in the table of this file (S8).
public enum AdSize: UInt8, CaseIterable, Sendable {
  case phoneBannerPortrait = 1
  case phoneBannerLandscape = 2
  case padBannerPortrait = 3
  case padBannerLandscape = 4
  case mediumRectangle = 5
  case padInterstitialPortrait = 6
  case padInterstitialLandscape = 7

  /// The table of sizes (S1, S2, S3, S7, S9).
  private var row: Row {
    switch self {
    case .phoneBannerPortrait: Row(["portrait", "320x50"], [.phone], .banner, 320, 50...50)
    case .phoneBannerLandscape: Row(["landscape", "480x32"], [.phone], .banner, 480, 32...32)
    case .padBannerPortrait: Row(["portrait"], [.pad], .banner, 768, 66...66)
    case .padBannerLandscape: Row(["landscape"], [.pad], .banner, 1_024, 66...66)
    case .mediumRectangle: Row(["mediumRectangle", "300x250"], [.phone, .pad], .banner, 300, 250...250)
    case .padInterstitialPortrait: Row(["portrait"], [.pad], .interstitial, 768, 911...1_024)
    case .padInterstitialLandscape: Row(["landscape"], [.pad], .interstitial, 1_024, 655...768)
    }
  }

  private struct Row {
    let identifiers: [String]
    let devices: [Device]
    let format: AdFormat
    let width: Int
    let heights: ClosedRange<Int>

    init(
      _ identifiers: [String], _ devices: [Device], _ format: AdFormat, _ width: Int, _ heights: ClosedRange<Int>
    ) {
      self.identifiers = identifiers
      self.devices = devices
      self.format = format
      self.width = width
      self.heights = heights
    }
  }

  private static let table = AdSize.allCases.map { (size: $0, row: $0.row) }

  /// The size that `identifier` names on `device`; nil for an identifier unknown there (S3).
  public static func resolve(
    identifier: String, device: Device, format: AdFormat = .banner
  ) -> AdSize? {
    for (size, row) in table
    where row.format == format && row.devices.contains(device) && row.identifiers.contains(identifier) {
      return size
    }
    return nil
  }

  /// The identifiers that name a size on `device`, for messages that say what there is.
  public static func identifiers(device: Device, format: AdFormat = .banner) -> [String] {
    table.filter { $0.row.format == format && $0.row.devices.contains(device) }.flatMap(\.row.identifiers)
  }

  /// The size's name in reports, catalogue files and tables: its points, as in `320x50`, and of a full-screen size the
  /// screen's. It names one size, whatever the device.
  public var name: String { "\(width)x\(heightRange.upperBound)" }

  /// Nil for any other text than a ``name``.
  public init?(name: String) {
    guard let size = AdSize.allCases.first(where: { $0.name == name }) else { return nil }
    self = size
  }

  /// The identifiers of this size, the usual one first.
  public var identifiers: [String] { row.identifiers }
  /// The devices that show this size.
  public var devices: [Device] { row.devices }
  /// Banner or interstitial.
  public var format: AdFormat { row.format }
  /// The width in points.
  public var width: Int { row.width }
  /// The height in points; of a full-screen size the smallest, for which its creative is drawn (S9).
  public var height: Int { row.heights.lowerBound }
  /// From the smallest height to the largest, in points: more than one value only for full-screen sizes (S6, S9).
  public var heightRange: ClosedRange<Int> { row.heights }

  /// Whether a view of these points may host a full-screen ad as page content (S6): exactly the screen's width for the
  /// orientation, and a height from (screen height - 113) to screen height.
  public static func hostViewAccepts(width: Int, height: Int, orientation: Orientation) -> Bool {
    let size: AdSize =
      switch orientation {
      case .portrait: .padInterstitialPortrait
      case .landscape: .padInterstitialLandscape
      }
    return width == size.width && size.heightRange.contains(height)
  }
}

/// The two forms of an ad.
public enum AdFormat: UInt8, CaseIterable, Sendable {
  /// A part of the screen, which asks for new ads periodically (D2).
  case banner = 1
  /// Full-screen, loaded once, on pads only (S5, D5).
  case interstitial = 2
}

/// How the interface is turned.
public enum Orientation: UInt8, CaseIterable, Sendable {
  case portrait = 1
  case landscape = 2
}
