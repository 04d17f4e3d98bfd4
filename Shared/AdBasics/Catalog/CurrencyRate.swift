/// What a unit of a currency is worth beside those of other currencies, in millionths of the network's own unit. It is for the
/// order of an auction alone: advertisers pay, and developers earn, in the advertiser's currency.
public enum CurrencyRate {
  /// The network's own unit, and a unit of a currency of which nothing is said.
  public static let whole: Int64 = 1_000_000
  /// The bounds of a rate: the highest price at the highest rate is far from overflow.
  public static let range: ClosedRange<Int64> = 1...1_000_000_000_000

  static func faults(_ rates: [Currency: Int64], _ list: inout FaultList) {
    list.checkCount(rates.count, "currencyRates")
    for (currency, rate) in rates.sorted(by: { $0.key < $1.key }) {
      list.require(
        range.contains(rate), "currencyRates.\(currency)",
        "it is \(rate): give what a unit of \(currency) is worth, \(range.lowerBound) to \(range.upperBound) millionths of the "
          + "network's own unit")
    }
  }
}

extension NetworkSettings {
  /// What a unit of `currency` is worth, as a ``CurrencyRate``.
  package func rate(of currency: Currency) -> Int64 { currencyRates[currency] ?? CurrencyRate.whole }
}
