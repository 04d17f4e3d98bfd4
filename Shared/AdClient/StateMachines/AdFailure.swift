public import AdCore

/// Why there is no ad, as the app is told. The app never shows it to its user.
public struct AdFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The public number (rules E).
  public let code: AdError
  /// A sentence for the app's developer, such as what to change in a request with a mistake; empty where the code says
  /// all that is known.
  public let detail: String
  /// The request that it is about: what to name to the network's support. Nil where the network was not asked.
  public let requestID: UUIDv7?

  public init(_ code: AdError, detail: String = "", requestID: UUIDv7? = nil) {
    self.code = code
    self.detail = detail
    self.requestID = requestID
  }

  /// The code's name, and the sentence.
  public var description: String { detail.isEmpty ? "\(code)" : "\(code): \(detail)" }

  /// The same about a request.
  func about(_ requestID: UUIDv7?) -> AdFailure { AdFailure(code, detail: detail, requestID: requestID) }
}
