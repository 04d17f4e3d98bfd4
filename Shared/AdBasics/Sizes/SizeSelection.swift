/// What a request's size identifiers mean (S3 to S5).
public enum SizeSelection: Hashable, Sendable {
  /// The sizes an ad must have images for, without repetition, in the request's order; the current one is among them.
  case resolved(required: [AdSize], current: AdSize)
  /// The request is refused, with a text for the app's developer.
  case refused(AdError, reason: String)

  /// The most identifiers a request may list.
  public static let identifiersMaximum = 16

  /// Resolves a request's identifiers.
  ///
  /// - Parameters:
  ///   - required: The required identifiers; empty means portrait and landscape (S4).
  ///   - current: The current identifier, which must be in the required set (S4); empty means the first required one.
  ///   - isInterstitial: A full-screen ad: refused on a phone (S5).
  public static func select(
    required: [String], current: String, device: Device, isInterstitial: Bool
  ) -> SizeSelection {
    if isInterstitial && device == .phone { return refused("S5: interstitials are for the device pad only") }
    guard required.count <= identifiersMaximum else {
      return refused("S4: \(required.count) required sizes are more than \(identifiersMaximum)")
    }
    let format: AdFormat = isInterstitial ? .interstitial : .banner
    var sizes: [AdSize] = []
    for identifier in required.isEmpty ? ["portrait", "landscape"] : required {
      guard let size = AdSize.resolve(identifier: identifier, device: device, format: format) else {
        return unknown(identifier, device: device, format: format)
      }
      if !sizes.contains(size) { sizes.append(size) }
    }
    guard !current.isEmpty else { return .resolved(required: sizes, current: sizes[0]) }
    guard let size = AdSize.resolve(identifier: current, device: device, format: format) else {
      return unknown(current, device: device, format: format)
    }
    guard sizes.contains(size) else {
      return refused("S4: the current size “\(current)” is not among the required sizes")
    }
    return .resolved(required: sizes, current: size)
  }

  /// Whether an ad with these images is eligible: it needs one for every required size (S4).
  public static func isServed(required: [AdSize], by images: [AdSize: String]) -> Bool {
    required.allSatisfy { images[$0] != nil }
  }

  private static func unknown(_ identifier: String, device: Device, format: AdFormat) -> SizeSelection {
    let known = AdSize.identifiers(device: device, format: format).joined(separator: ", ")
    let shown = String(identifier.unicodeScalars.prefix(40).map { $0.properties.isWhitespace ? " " : Character($0) })
    return refused("S3: unknown size “\(shown)”: this device has \(known)")
  }

  private static func refused(_ reason: String) -> SizeSelection { .refused(.configurationError, reason: reason) }
}
