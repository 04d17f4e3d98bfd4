internal import AdCore

/// A link of the seed network's ads for apps: what its user installs, and the click reference (M8).
struct StoreLink: Hashable, Sendable {
  let app: AppID
  let reference: String

  private static let start = "https://store.example/"
  private static let parameter = "?ref="
  private static let apps = ["chess-install": "chess", "puzzle-install": "puzzle-farm"]

  /// Where the ads of a campaign lead. What is for users under 17 tells nothing of them, and its link has no reference (A4).
  static func destination(of campaign: String) -> String {
    guard let app = apps[campaign].flatMap({ AppID($0) }), !SeedNetwork.isUnder17(app) else { return start + campaign }
    return start + campaign + parameter + ClickMacro(app: app).text
  }

  /// Nil for a link that leads to none of the seed network's apps, or carries no reference.
  init?(_ destination: String) {
    guard destination.hasPrefix(Self.start), let mark = destination.firstRange(of: Self.parameter),
      let app = Self.apps[String(destination[..<mark.lowerBound].dropFirst(Self.start.count))].flatMap({ AppID($0) }),
      mark.upperBound < destination.endIndex
    else { return nil }
    self.app = app
    reference = String(destination[mark.upperBound...])
  }
}
