public import AdBasics
internal import AdEvents

/// What a user did in this app after a tap on an ad for it (M8): an install, a purchase, or what else its advertiser looks
/// for.
public struct AdConversion: Hashable, Sendable {
  public var kind: ConversionKind
  /// What it was worth to the advertiser, in 10⁻⁹ of the currency's unit; 0 for nothing told. No money moves by it.
  public var value: Nanos
  /// Of the value.
  public var currency: Currency?

  /// What was done, and what it was worth.
  public init(_ kind: ConversionKind, value: Nanos = .zero, currency: Currency? = nil) {
    self.kind = kind
    self.value = value
    self.currency = currency
  }
}

extension AdNetworkClient {
  /// Tells what came of an ad for this app. Of one reference an install counts once, and so does what is `other`; each
  /// purchase counts.
  ///
  /// - Parameters:
  ///   - conversion: What the user did, and what it was worth.
  ///   - reference: The click reference, as the store link that led here carried it; nothing else names the tap (A8).
  ///   - hasConsent: Whether the user has agreed. Where the answer is no, nothing leaves the device.
  /// - Returns: False where nothing was told: without consent, without a reference, as links in apps for users under 17 have none,
  ///   without a currency for a value, or with a full queue.
  @discardableResult
  public func tell(_ conversion: AdConversion, reference: String, hasConsent: Bool) -> Bool {
    guard hasConsent, (1...FieldLimits.clickReferenceBytesMaximum).contains(reference.utf8.count),
      conversion.value == .zero || conversion.value > .zero && conversion.currency != nil
    else { return false }
    return session.tell(
      ClickEvent.Conversion(
        reference: reference, kind: conversion.kind, appKey: identity.appKey, value: conversion.value,
        currency: conversion.currency))
  }
}
