package import AdCore
package import AdEvents

extension AdRequest {
  /// A phone's request for a banner, of a client of its own. Equal numbers are equal requests.
  ///
  /// Whoever adds a field to the request gives it a value here, and nowhere else.
  package static func sample(_ number: UInt64 = 1, at time: Timestamp = .sample) -> AdRequest {
    AdRequest(
      requestID: UUIDv7(timestamp: time, randomHigh: 1, randomLow: number), appKey: "live",
      app: known(AppID("weather")), placement: known(PlacementID("home")), clientID: "client-\(number)",
      sessionID: "session", country: known(Country("US")), device: .phone, requiredSizes: [], currentSize: "",
      isInterstitial: false, deadlineMilliseconds: 10_000, replyPartition: 0, replyTopic: "", correlationID: [])
  }

  /// The same with what matters changed.
  package static func sample(
    _ number: UInt64 = 1, at time: Timestamp = .sample, change: (inout AdRequest) throws -> Void
  ) rethrows -> AdRequest {
    var request = sample(number, at: time)
    try change(&request)
    return request
  }
}
