/// What went wrong with money. An amount never wraps: it is this error instead.
public enum MoneyError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The result does not fit.
  case overflow(Operation)

  public enum Operation: String, Hashable, Sendable {
    case addition
    case subtraction
  }

  public var description: String {
    switch self {
    case .overflow(let operation): "money overflow in \(operation.rawValue)"
    }
  }
}
