/// What a user did in an advertised app after a click (M8). The numbers are public and stored.
public enum ConversionKind: UInt8, CaseIterable, Sendable {
  /// The app was started for the first time.
  case install = 1
  /// Something was bought in it.
  case purchase = 2
  /// Something else that its advertiser looks for.
  case other = 3
}

extension ConversionKind: Vocabulary {
  package static let vocabulary = "conversion_kind"

  package var rule: String? { "M8" }

  package var meaning: String {
    switch self {
    case .install: "an install"
    case .purchase: "a purchase"
    case .other: "what its advertiser looks for"
    }
  }
}
