package import AdBasics

/// When something happened on the device, as the client tells it.
package enum EventAge: Hashable, Sendable {
  /// Milliseconds since the answer came, on the device's monotonic clock.
  case milliseconds(Int64)
  /// No age was sent: `ce_time` counts, held between issued-at and arrival.
  case unknown
}

/// The identity of an event: CloudEvents' `ce_id` and `ce_time`.
package struct EventIdentity: Hashable, Sendable {
  /// The first 8 bytes of SHA-256 over `ce_id`, big-endian.
  package var idHash: UInt64
  /// `ce_time`, where there was a valid one.
  package var time: Timestamp?

  package init(idHash: UInt64, time: Timestamp?) {
    self.idHash = idHash
    self.time = time
  }
}

/// An app asks for an ad.
package struct AdRequest: Hashable, Sendable {
  package var requestID: UUIDv7
  /// The app's key: says which app and which build kind (A1).
  package var appKey: String
  /// What the app says it is; it must agree with the key.
  package var app: AppID
  package var placement: PlacementID
  /// Per app, random, resettable; empty where the user limits tracking (A8).
  package var clientID: String
  /// Lasts as long as the app's process.
  package var sessionID: String
  package var country: Country
  package var device: Device
  /// Required size identifiers as the app names them, unresolved (S3, S4); empty means portrait and landscape.
  package var requiredSizes: [String]
  /// The current size identifier; empty means the first required one.
  package var currentSize: String
  package var isInterstitial: Bool
  /// How long the client waits, from arrival, in milliseconds.
  package var deadlineMilliseconds: Int64
  /// Where the answer goes, 0 where the request names none; the topic itself is made from the app's id.
  package var replyPartition: Int32
  /// The topic named in the request's header, empty when there was none; it must agree with the app's.
  package var replyTopic: String
  /// Echoed unchanged; at most 64 bytes.
  package var correlationID: [UInt8]
  /// True when the forwarding mark under our MAC verified: decided where it lies.
  package var isForwarded: Bool
  package var segments: [String]

  package init(
    requestID: UUIDv7, appKey: String, app: AppID, placement: PlacementID, clientID: String, sessionID: String,
    country: Country, device: Device, requiredSizes: [String], currentSize: String, isInterstitial: Bool,
    deadlineMilliseconds: Int64, replyPartition: Int32, replyTopic: String, correlationID: [UInt8],
    isForwarded: Bool = false, segments: [String] = []
  ) {
    self.requestID = requestID
    self.appKey = appKey
    self.app = app
    self.placement = placement
    self.clientID = clientID
    self.sessionID = sessionID
    self.country = country
    self.device = device
    self.requiredSizes = requiredSizes
    self.currentSize = currentSize
    self.isInterstitial = isInterstitial
    self.deadlineMilliseconds = deadlineMilliseconds
    self.replyPartition = replyPartition
    self.replyTopic = replyTopic
    self.correlationID = correlationID
    self.isForwarded = isForwarded
    self.segments = segments
  }
}

/// The answer to a request: an ad, or a code of rules E.
package struct AdResponse: Hashable, Sendable {
  package var requestID: UUIDv7
  package var outcome: Outcome

  package enum Outcome: Hashable, Sendable {
    case ad(ServedAd)
    case error(AdError, detail: String)
  }

  package init(requestID: UUIDv7, outcome: Outcome) {
    self.requestID = requestID
    self.outcome = outcome
  }
}

/// An ad as the client gets it.
package struct ServedAd: Hashable, Sendable {
  package var ad: AdID
  /// The serve token, opaque to the client, sent back in each event.
  package var token: [UInt8]
  /// One image for each required size (S4).
  package var images: [Image]
  package var action: AdAction
  /// How long the content lives after loading, in milliseconds (D5).
  package var lifetimeMilliseconds: Int64
  package var isTest: Bool
  /// Names this served ad to the network's support.
  package var serveID: ServeID
  /// What an impression of it brings the app's developer; nil in answers of an older network.
  package var revenue: Revenue?
  /// What the client goes by; nil in answers of an older network.
  package var pacing: AdPacing?
  /// Its events count under the request's session id, since the client id was not taken (A4, A8).
  package var countsBySession: Bool

  /// The developer's share of an impression's price (B2); 0 where only clicks are paid, and for test ads.
  package struct Revenue: Hashable, Sendable {
    package var amount: Nanos
    package var currency: Currency

    package init(amount: Nanos, currency: Currency) {
      self.amount = amount
      self.currency = currency
    }
  }

  package struct Image: Hashable, Sendable {
    package var size: AdSize
    package var url: String

    package init(size: AdSize, url: String) {
      self.size = size
      self.url = url
    }
  }

  package init(
    ad: AdID, token: [UInt8], images: [Image], action: AdAction, lifetimeMilliseconds: Int64, isTest: Bool,
    serveID: ServeID, revenue: Revenue? = nil, pacing: AdPacing? = nil, countsBySession: Bool = false
  ) {
    self.countsBySession = countsBySession
    self.pacing = pacing
    self.serveID = serveID
    self.revenue = revenue
    self.ad = ad
    self.token = token
    self.images = images
    self.action = action
    self.lifetimeMilliseconds = lifetimeMilliseconds
    self.isTest = isTest
  }
}

/// What a device tells `ads.impressions`.
package struct ImpressionEvent: Hashable, Sendable {
  package enum Kind: UInt8, CaseIterable, Sendable {
    case rendered = 1
    /// The impression itself (M1).
    case viewed = 2
    case unloaded = 3
    case failed = 4
    /// Given up without having been on screen (D3).
    case neverShown = 6
    /// Its life ended before it was on screen (D5).
    case expiredUnseen = 7
    /// Hidden by the app sooner than it may be (D12).
    case shownBriefly = 8
  }

  /// Which ad, or, for a failure that happened without one, which request.
  package enum Subject: Hashable, Sendable {
    case serve(token: [UInt8])
    case request(RequestSubject)
  }

  /// A request that got no ad, as it named itself.
  package struct RequestSubject: Hashable, Sendable {
    package var requestID: UUIDv7
    /// The app's key: nobody else may tell of its failures (A1).
    package var appKey: String
    package var app: AppID
    package var placement: PlacementID
    package var clientID: String
    package var sessionID: String

    package init(
      requestID: UUIDv7, appKey: String, app: AppID, placement: PlacementID, clientID: String, sessionID: String
    ) {
      self.requestID = requestID
      self.appKey = appKey
      self.app = app
      self.placement = placement
      self.clientID = clientID
      self.sessionID = sessionID
    }
  }

  package var kind: Kind
  package var subject: Subject
  package var age: EventAge
  /// Only for `failed`.
  package var error: AdError?
  package var identity: EventIdentity

  package init(kind: Kind, subject: Subject, age: EventAge, error: AdError?, identity: EventIdentity) {
    self.kind = kind
    self.subject = subject
    self.age = age
    self.error = error
    self.identity = identity
  }
}

/// What a device tells `ads.clicks`: a tap once it is complete (M7), or what came of one (M8).
package struct ClickEvent: Hashable, Sendable {
  package var kind: TapKind
  /// Empty for a conversion.
  package var token: [UInt8]
  /// The age at the tap.
  package var age: EventAge
  /// How long the action had lasted when the event was sent, in milliseconds.
  package var actionMilliseconds: Int64
  package var leftApplication: Bool
  /// Of a conversion, and of nothing else.
  package var conversion: Conversion?
  package var identity: EventIdentity

  package init(
    kind: TapKind, token: [UInt8], age: EventAge, actionMilliseconds: Int64, leftApplication: Bool,
    conversion: Conversion? = nil, identity: EventIdentity
  ) {
    self.kind = kind
    self.token = token
    self.age = age
    self.actionMilliseconds = actionMilliseconds
    self.leftApplication = leftApplication
    self.conversion = conversion
    self.identity = identity
  }

  /// What a user did in an advertised app, told with his consent (M8).
  package struct Conversion: Hashable, Sendable {
    /// As the store link carried it.
    package var reference: String
    package var kind: ConversionKind
    /// The advertised app's.
    package var appKey: String
    /// What it was worth to the advertiser, as he tells it; 0 for nothing told.
    package var value: Nanos
    /// Of the value.
    package var currency: Currency?

    package init(
      reference: String, kind: ConversionKind, appKey: String, value: Nanos = .zero, currency: Currency? = nil
    ) {
      self.reference = reference
      self.kind = kind
      self.appKey = appKey
      self.value = value
      self.currency = currency
    }
  }
}

extension RecordedKind {
  package init(_ kind: ImpressionEvent.Kind) {
    switch kind {
    case .rendered: self = .rendered
    case .viewed: self = .viewed
    case .unloaded: self = .unloaded
    case .failed: self = .failed
    case .neverShown: self = .neverShown
    case .expiredUnseen: self = .expiredUnseen
    case .shownBriefly: self = .shownBriefly
    }
  }
}
