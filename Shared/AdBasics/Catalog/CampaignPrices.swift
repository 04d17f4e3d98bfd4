extension Campaign {
  /// What one ad costs at most: an impression and a click (B1); nil if a price is negative or the sum is no amount.
  package var fullPrice: Nanos? {
    guard impressionPrice.value >= 0, clickPrice.value >= 0 else { return nil }
    let (sum, overflow) = billedImpressionPrice.value.addingReportingOverflow(clickPrice.value)
    return overflow ? nil : Nanos(sum)
  }

  /// A developer campaign pays for clicks only, whatever its record says (B1).
  package var billedImpressionPrice: Nanos { kind == .brand ? impressionPrice : .zero }

  /// House campaigns pay nothing.
  package var billedClickPrice: Nanos { kind == .house ? .zero : clickPrice }
}
