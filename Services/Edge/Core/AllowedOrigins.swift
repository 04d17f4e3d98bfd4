package import AdCore

/// From which pages browsers may speak for which app.
package struct AllowedOrigins: Hashable, Sendable {
  private var apps: [String: Set<AppID>] = [:]

  /// The most pairs.
  package static let pairsMaximum = 10_000

  package init() {}

  /// Reads `chess=https://chess.example, chess=http://localhost:8000`; nil where an entry is no such pair.
  package init?(_ text: String) {
    for entry in text.split(whereSeparator: { $0 == "," || $0.isNewline }) {
      let pair = entry.filter { $0 != " " }.split(separator: "=", maxSplits: 1)
      guard pair.count == 2, let app = AppID(String(pair[0])), Self.isOrigin(pair[1]) else { return nil }
      apps[String(pair[1]), default: []].insert(app)
    }
    guard apps.count <= Self.pairsMaximum else { return nil }
  }

  /// A scheme and a host, without a path.
  private static func isOrigin(_ text: Substring) -> Bool {
    for scheme in ["https://", "http://"] where text.hasPrefix(scheme) {
      let rest = text.dropFirst(scheme.count)
      return !rest.isEmpty && rest.utf8.count <= 255
        && rest.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".-:[]".contains($0)) }
    }
    return false
  }

  /// Whether any app allows it: a preflight does not say whose it is.
  package func isKnown(_ origin: String) -> Bool { apps[origin] != nil }

  package func allows(_ origin: String, app: AppID) -> Bool { apps[origin]?.contains(app) ?? false }
}
