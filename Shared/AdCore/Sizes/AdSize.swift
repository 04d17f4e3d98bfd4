/// The concrete sizes of ads, in points. An app names a size by identifier, never by frame (S3); this is what an
/// identifier resolves to on a device. Adding a size is one line in the table of this file (S8).
public enum AdSize: UInt8, CaseIterable, Sendable {
  case phoneBannerPortrait = 1
  case phoneBannerLandscape = 2
  case padBannerPortrait = 3
  case padBannerLandscape = 4
  case mediumRectangle = 5
  case padInterstitialPortrait = 6
  case padInterstitialLandscape = 7
}
