public import AdBasics

/// What one impression brings the app's developer, to the nano (B2, B3): the terms are frozen when the ad is served, so
/// it is exact where it counts. The network may still refuse the impression (B8); its reports say what was paid.
public struct AdRevenue: Hashable, Sendable, CustomStringConvertible {
  /// The developer's share of the impression's price; 0 where only clicks are paid, and for test ads.
  public let amount: Nanos
  /// The currency of the amount; nil where the answer names none.
  public let currency: Currency?

  package init(amount: Nanos, currency: Currency?) {
    self.amount = amount
    self.currency = currency
  }

  /// As in "USD 0.006000000"; "nothing" for 0.
  public var description: String {
    guard amount != .zero else { return "nothing" }
    let (units, nanos) = amount.value.quotientAndRemainder(dividingBy: 1_000_000_000)
    let rest = String(nanos.magnitude)
    return "\(currency.map { "\($0) " } ?? "")\(units).\(String(repeating: "0", count: 9 - rest.count))\(rest)"
  }

  /// Nothing.
  package static let none = AdRevenue(amount: .zero, currency: nil)
}
