package import AdBasics
internal import Hashes

/// A picture that comes with the network, drawn by it for every size: of the test ads (A2), and of the ads of the sample
/// network that `handbill seed` makes. It says what it is, so that a developer sees at once what came, and in which size.
package struct SamplePicture: Hashable, Sendable {
  /// The ad that shows it.
  package let ad: String
  /// What it says, in capitals and digits.
  package let title: String
  /// The background's colour, the letters', and the border's: red, green, blue in a byte each.
  private let colors: [UInt32]

  private init(_ ad: String, _ title: String, _ colors: [UInt32]) {
    self.ad = ad
    self.title = title
    self.colors = colors
  }

  /// All of them.
  package static let all =
    [
      SamplePicture("handbill-test-cover", "Handbill test ad", [0xFFD23F, 0x1B1B1E, 0x1B1B1E]),
      SamplePicture("handbill-test-leave", "Handbill test ad: leaves", [0x1B1B1E, 0xFFD23F, 0xFFD23F]),
    ]
    + campaigns.flatMap { campaign, title, dark, light in
      [
        SamplePicture("\(campaign)-one", title, [dark, light, light]),
        SamplePicture("\(campaign)-two", title, [light, dark, dark]),
      ]
    }

  /// Of the sample network: its campaigns, what their ads say, and a dark and a light colour.
  private static let campaigns: [(campaign: String, title: String, dark: UInt32, light: UInt32)] = [
    ("ferry-summer", "Ferries in summer", 0x005F73, 0xE9F5F5),
    ("ferry-winter", "Islands in winter", 0x23395B, 0xE8EEF7),
    ("blue-account", "An account in blue", 0x1D4ED8, 0xEFF6FF), ("blue-card", "A card in blue", 0x1E3A8A, 0xDBEAFE),
    ("trail-launch", "Shoes for rain", 0x14532D, 0xECFDF3), ("trail-flash", "One hour of shoes", 0x9A3412, 0xFFF4E6),
    ("chess-install", "Get Chess for Evenings", 0x3B2A20, 0xF5EDE4),
    ("puzzle-install", "Get Puzzle Farm", 0x6B2178, 0xFBEFFC), ("house-note", "Advertise here", 0x3F3F46, 0xF4F4F5),
  ]

  /// Drawn for `size`, as PNG: the title, and below it the size in points.
  package func png(_ size: AdSize) -> [UInt8] {
    PNG.encode(
      Layout(title: title, width: size.width, height: size.height).bands, colors: colors.map(PNG.Color.init(_:)))
  }

  /// The bytes of all pictures by their hashes in hexadecimal, as an edge serves them.
  package static func named() -> [String: [UInt8]] {
    Dictionary(all.flatMap { picture in AdSize.allCases.map { picture.drawn($0) } }) { first, _ in first }
  }

  private func drawn(_ size: AdSize) -> (String, [UInt8]) {
    let bytes = png(size)
    return (reference(of: bytes)?.contents?.name ?? "", bytes)
  }

  private func reference(of bytes: [UInt8]) -> ImageReference? {
    ImageReference.Contents(sha256: SoftwareSHA256.hash(bytes), byteCount: bytes.count).map(
      ImageReference.init(atEdge:))
  }

  /// Where an edge has the pictures of `ad`, by their sizes, as the catalogue has it; none for an ad without pictures.
  package static func images(of ad: String) -> [AdSize: String] {
    guard let picture = all.first(where: { $0.ad == ad }) else { return [:] }
    return AdSize.allCases.reduce(into: [:]) { $0[$1] = picture.reference(of: picture.png($1))?.text }
  }
}
