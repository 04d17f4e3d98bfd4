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

/// Something that the network has from this client, for sure: what a tally on the devices' side counts.
public enum AcknowledgedFact: Hashable, Sendable {
  /// A request, once however often it was asked.
  case request(placement: PlacementID)
  /// What happened to a served ad, `ageMilliseconds` after its answer came; a click's age is that of the tap.
  case told(AdHappening, serve: ServeID, placement: PlacementID, isTest: Bool, ageMilliseconds: Int64)
  /// An error without an ad (M6).
  case failed(AdError, placement: PlacementID)
  /// What came of an ad for this app (M8).
  case converted(ConversionKind)
}

/// What a client tells of a served ad.
public enum AdHappening: Hashable, Sendable {
  /// It was drawn.
  case rendered
  /// The impression itself (M1).
  case viewed
  /// Its content is gone.
  case unloaded
  /// It is given up without having been on screen (D3).
  case neverShown
  /// Its life ended before it was on screen (D5).
  case expiredUnseen
  /// The app hid it sooner than it may (D12).
  case shownBriefly
  case failed(AdError)
  /// A click, complete (M7): whether it was an accident follows from the rest.
  case click(actionMilliseconds: Int64, leftApplication: Bool)
  /// The app refused the action (D7).
  case blocked
  /// The app cancelled the action (D9).
  case cancelled(actionMilliseconds: Int64)
}
