/// What a served ad shows and does, as it was answered: many serves have the same, and tables hold each once, under a hash of
/// its content.
public struct FrozenCreative: Hashable, Sendable {
  public let lifetimeMilliseconds: Int64
  public let action: AdAction
  /// One image for each size that was asked for, in the request's order.
  public let sizes: [AdSize]
  public let urls: [String]

  public init(lifetimeMilliseconds: Int64, action: AdAction, sizes: [AdSize], urls: [String]) {
    self.lifetimeMilliseconds = lifetimeMilliseconds
    self.action = action
    self.sizes = sizes
    self.urls = urls
  }

  /// What is hashed, in words between spaces, which no URL contains. `ad_selection.creative_name` in the database makes
  /// the same.
  var canonicalText: String {
    (["\(lifetimeMilliseconds)", "\(action.kind.rawValue)", action.destination] + sizes.map { "\($0.rawValue)" } + urls)
      .joined(separator: " ")
  }
}

extension FrozenCreative: FrozenContent {
  public var name: Int64 { Self.name(of: canonicalText) }
}
