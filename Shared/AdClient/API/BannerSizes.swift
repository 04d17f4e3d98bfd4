internal import AdBasics

/// The identifiers by which apps name sizes (S3): the same words mean the device's own sizes.
public enum SizeIdentifier {
  /// The device's banner in portrait: 320 x 50 points on a phone, 768 x 66 on a pad (S1, S2).
  public static let portrait = "portrait"
  /// The device's banner in landscape: 480 x 32 points on a phone, 1024 x 66 on a pad (S1, S2).
  public static let landscape = "landscape"
  /// 300 x 250 points on all devices (S7).
  public static let mediumRectangle = "mediumRectangle"
  /// The older name of the phone's banner in portrait.
  public static let size320x50 = "320x50"
  /// The older name of the phone's banner in landscape.
  public static let size480x32 = "480x32"
}

/// What a banner can show and shows now, as the app names it and as it is.
struct BannerSizes {
  /// The sizes that identifiers mean on the device.
  struct Resolved: Hashable {
    let required: [AdSize]
    /// One of the required.
    let current: AdSize
  }

  let requiredIdentifiers: [String]
  let currentIdentifier: String
  let resolved: Resolved

  init(required: [String], current: String, device: Device) throws(AdObjectError) {
    let selection = SizeSelection.select(required: required, current: current, device: device, isInterstitial: false)
    switch selection {
    case .refused(let error, let reason): throw .invalidSizes(error, reason: reason)
    case .resolved(let sizes, let size):
      requiredIdentifiers = required
      currentIdentifier = current
      resolved = Resolved(required: sizes, current: size)
    }
  }

  /// The same showing another size; nil for one that is not required (S4).
  func showing(_ identifier: String, device: Device) -> BannerSizes? {
    try? BannerSizes(required: requiredIdentifiers, current: identifier, device: device)
  }
}
