public import AdBasics

/// Who asks: the app, and the user as far as the network needs to know (A8).
public struct ClientIdentity: Hashable, Sendable {
  /// The app's id.
  public var app: AppID
  /// The app's registered key for this kind of build (A1).
  public var appKey: String
  /// Per app, random, resettable; nil where the user limits tracking (A8).
  public var clientID: String?
  /// As long as the app's process (A8).
  public var sessionID: String
  public var country: Country
  public var device: Device
  /// What the app says about its user's interests; campaigns may target them (A6).
  public var segments: [String]

  public init(
    app: AppID, appKey: String, clientID: String?, sessionID: String, country: Country, device: Device,
    segments: [String] = []
  ) {
    self.app = app
    self.appKey = appKey
    self.clientID = clientID
    self.sessionID = sessionID
    self.country = country
    self.device = device
    self.segments = segments
  }

  /// What everything of this client is partitioned by.
  var partitionKey: String { clientID.flatMap { $0.isEmpty ? nil : $0 } ?? sessionID }
}

/// Something that the broker has from this client, for sure: what a tally on the devices' side counts.
public enum AcknowledgedFact: Hashable, Sendable {
  /// A request, once however often it was asked.
  case request(placement: PlacementID)
  /// An impression (M1), `ageMilliseconds` after the answer.
  case impression(ad: AdID, placement: PlacementID, isTest: Bool, ageMilliseconds: Int64)
  /// A click, tapped `ageMilliseconds` after the answer; whether it was accidental follows from the rest (M7).
  case click(
    ad: AdID, placement: PlacementID, isTest: Bool, ageMilliseconds: Int64, actionMilliseconds: Int64,
    leftApplication: Bool)
  /// Anything else: rendered, unloaded, failed, blocked, cancelled.
  case other(placement: PlacementID)
}
