/// The app developer's share of what an advertiser pays, in basis points (B2); the network gets the rest.
public struct RevenueShare: Hashable, Sendable {
  /// The whole, in basis points.
  public static let whole: UInt16 = 10_000
  /// The developer's, in basis points, where the app has none of its own (B2).
  public static let standard: UInt16 = 6_000

  /// 0 to 10,000.
  public let basisPoints: UInt16

  /// Nil above 10,000.
  public init?(basisPoints: UInt16) {
    guard basisPoints <= RevenueShare.whole else { return nil }
    self.basisPoints = basisPoints
  }

  /// One event's two parts. They always add up to the amount that was split (B3).
  public struct Parts: Hashable, Sendable {
    public let developer: Nanos
    public let network: Nanos
  }

  /// Splits one event's amount: the developer's part is rounded half up, the network gets the rest. A credit, below 0,
  /// is split just as the charge that it takes back.
  public func split(_ amount: Nanos) -> Parts {
    let whole = Int128(RevenueShare.whole)
    let magnitude = Int128(amount.value).magnitude * UInt128(basisPoints)
    let part = Int128((magnitude + UInt128(whole / 2)) / UInt128(whole))
    // No more than the amount itself, and of its sign: both fit.
    let developer = Int64(truncatingIfNeeded: amount.value < 0 ? -part : part)
    return Parts(developer: Nanos(developer), network: Nanos(amount.value - developer))
  }
}
