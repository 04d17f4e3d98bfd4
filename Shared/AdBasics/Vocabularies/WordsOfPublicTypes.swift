extension AdSize: Vocabulary {
  package static let vocabulary = "ad_size"

  package var meaning: String {
    let shown = devices.map(\.name).joined(separator: " and ")
    return "\(format) of \(width) by \(heightRange.upperBound) points, for \(shown)"
  }
}

extension Device: Vocabulary {
  package static let vocabulary = "device"

  package var meaning: String {
    switch self {
    case .phone: "a phone"
    case .pad: "a tablet"
    }
  }
}

extension AdAction.Kind: Vocabulary {
  package static let vocabulary = "ad_action"

  package var rule: String? { "D11" }

  package var meaning: String {
    switch self {
    case .cover: "covers the screen"
    case .leave: "leaves the application"
    }
  }
}
