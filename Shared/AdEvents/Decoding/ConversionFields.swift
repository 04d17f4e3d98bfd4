internal import AdBasics

extension ClickEvent.Conversion {
  /// Reads `handbill.v1.Conversion`; nil with mistakes. One without consent is nothing but that (A8).
  init?(_ told: UnsafeRawBufferPointer?, _ mistakes: inout Mistakes) {
    guard let told else {
      mistakes.addMissing("conversion is missing")
      return nil
    }
    var (reference, appKey) = ("", "")
    var kind: ConversionKind?
    var hasConsent = false
    var value = Nanos.zero
    var currency: Currency?
    mistakes.read(told) { (reader) throws(Rejection) in
      switch reader.field {
      case 1: reference = try reader.text("conversion.reference", maximum: FieldLimits.clickReferenceBytesMaximum)
      case 2: kind = try reader.choice("conversion.kind")
      case 3: hasConsent = try reader.bool()
      case 4: appKey = try reader.text("conversion.app_key", maximum: FieldLimits.appKeyBytesMaximum)
      case 5: value = try reader.nanos("conversion.value_nanos")
      case 6: currency = try reader.currency("conversion.currency")
      default: try reader.skip()
      }
    }
    guard hasConsent else {
      mistakes = Mistakes()
      mistakes.add(Rejection(.consentMissing, "conversion.has_consent is not true"))
      return nil
    }
    reference = mistakes.required(reference, "conversion.reference")
    appKey = mistakes.required(appKey, "conversion.app_key")
    kind = mistakes.required(kind, "conversion.kind")
    if value > .zero, currency == nil { mistakes.addMissing("conversion.currency is missing") }
    guard mistakes.isEmpty, let kind else { return nil }
    self.init(reference: reference, kind: kind, appKey: appKey, value: value, currency: currency)
  }

  func write(to writer: inout WireWriter) {
    writer.text(1, reference)
    writer.unsigned(2, UInt64(kind.rawValue))
    writer.bool(3, true)
    writer.text(4, appKey)
    writer.signed(5, value.value)
    if let currency { writer.text(6, currency.text) }
  }
}
