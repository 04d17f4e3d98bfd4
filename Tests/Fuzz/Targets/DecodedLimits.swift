import AdEvents

/// What holds for everything that was decoded, whichever message it is: looked at from outside, by its parts.
enum DecodedLimits {
  /// A field outside of all limits, in words.
  static func fault(in value: Any) -> String? {
    if let text = value as? String { return fault(inText: text) }
    if let bytes = value as? [UInt8] {
      return bytes.count > FieldLimits.rejectedValueBytesMaximum ? "\(bytes.count) bytes in one field" : nil
    }
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .collection, .set, .dictionary:
      guard mirror.children.count <= FieldLimits.setMaximum else { return "\(mirror.children.count) entries in a list" }
    default: break
    }
    for child in mirror.children {
      if let fault = fault(in: child.value) { return (child.label ?? "entry") + ": " + fault }
    }
    return nil
  }

  private static func fault(inText text: String) -> String? {
    if text.utf8.count > FieldLimits.urlBytesMaximum { return "text of \(text.utf8.count) bytes" }
    if text.utf8.contains(0) { return "text with a NUL" }
    return String(validating: Array(text.utf8), as: UTF8.self) == nil ? "text that is not UTF-8" : nil
  }
}
