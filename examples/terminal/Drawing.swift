import AdClient

/// Ads as text: what a view would draw.
public enum Drawing {
  /// An image that an app would show: its size in points, and where it comes from.
  public static func picture(_ ad: AdContent, _ size: AdSize) -> String {
    let source = ad.images[size].map { $0.hasPrefix("data:") ? "drawn by the SDK" : $0 } ?? "no image"
    return "[ \(ad.ad)  \(size.width) x \(size.height)  \(source) ]"
  }

  /// What covers the app after a tap.
  public static func cover(_ destination: String) -> String {
    "=== \(destination) ===  x: back to the app, c: called away"
  }
}
