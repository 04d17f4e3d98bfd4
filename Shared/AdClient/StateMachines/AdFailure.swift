public import AdBasics
public import Foundation

/// Why there is no ad, as the app is told. The app never shows it to its user.
public struct AdFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The public number (rules E, 0 to 10).
  public let code: AdError
  /// A sentence for the app's developer, such as "A3: ads are not enabled for the app"; empty where the code says all
  /// that is known.
  public let detail: String
  /// The request that it is about: what to name to the network's support (`handbill explain` takes it). Nil where the
  /// network was not asked.
  public let requestID: UUIDv7?
  /// How long until the next try makes sense, in milliseconds. A banner then tries by itself (D2); for an interstitial
  /// the app makes a new object. Nil where trying again does not help, or nothing is known.
  public let retryAfterMilliseconds: Int64?

  public init(
    _ code: AdError, detail: String = "", requestID: UUIDv7? = nil, retryAfterMilliseconds: Int64? = nil
  ) {
    self.code = code
    self.detail = detail
    self.requestID = requestID
    self.retryAfterMilliseconds = retryAfterMilliseconds
  }

  /// The code's name, and the sentence.
  public var description: String { detail.isEmpty ? "\(code)" : "\(code): \(detail)" }

  /// The same about a request.
  ///
  /// - Parameter explanation: Stands in for a sentence where there is none.
  func about(_ requestID: UUIDv7?, explanation: String = "") -> AdFailure {
    AdFailure(
      code, detail: detail.isEmpty ? explanation : detail, requestID: requestID,
      retryAfterMilliseconds: retryAfterMilliseconds)
  }
}

extension AdFailure: LocalizedError {
  /// What happened, and the sentence.
  public var errorDescription: String? { detail.isEmpty ? code.meaning : "\(code.meaning) (\(detail))" }

  /// When it will be tried again.
  public var recoverySuggestion: String? {
    retryAfterMilliseconds.map { "try again in \(($0 + 999) / 1_000) s" }
  }
}

extension AdFailure: CustomNSError {
  /// The domain of these errors, iAd's `ADErrorDomain`.
  public static let errorDomain = "org.handbill.ads"

  /// The public number (rules E).
  public var errorCode: Int { Int(code.rawValue) }

  public var errorUserInfo: [String: Any] {
    var info: [String: Any] = [NSLocalizedDescriptionKey: errorDescription ?? ""]
    if let requestID { info["requestID"] = requestID.description }
    if let retryAfterMilliseconds { info["retryAfterMilliseconds"] = retryAfterMilliseconds }
    return info
  }
}
