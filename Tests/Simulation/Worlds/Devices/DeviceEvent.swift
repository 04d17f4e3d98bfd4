import AdCore
import AdEvents
import Pipeline

/// What a device did, as it knows itself: the truth that the auditor starts from.
struct DeviceEvent {
  /// What the bytes are worth before anything else is looked at.
  enum Form: Hashable {
    case sound
    case forged
    case unknownKey
    /// Told by another than the client that got the ad.
    case stolen
    /// Not a message at all, and the number of the reason.
    case garbage(reason: UInt8)
  }

  enum Content: Hashable {
    case impression(ImpressionEvent.Kind, AdError?)
    /// A tap: what it was, how long its action had lasted, whether the user left the application.
    case click(TapKind, Int64, Bool)
    /// A failure without an ad, by request id, and with which key.
    case failure(UUIDv7, AdError, Request.Key)
    case request(Request)
  }

  /// What an app asks for, as far as it differs from one to the other.
  struct Request: Hashable {
    enum Key: Hashable {
      case live, test, unknown

      func text(of app: AppID) -> String {
        switch self {
        case .live: CatalogPlan.key(of: app, .distribution)
        case .test: CatalogPlan.key(of: app, .developer)
        case .unknown: "no-key"
        }
      }
    }
    enum Reply: Hashable { case sound, otherTopic, absurdPartition }

    var id: UUIDv7
    /// The client id, else the session id: where the request belongs follows from it. Nil where a mistake hides it.
    var client: String?
    /// The hash of the client, of who asks before the keys are rotated and after it.
    var clientHashes: [UInt64]
    var app: AppID
    var placement: PlacementID
    var key: Key
    var deadline: Int64
    var reply: Reply
    var replyPartition: Int32
    /// The number of the reason for which the record is rejected although whose it is can be read; nil for none.
    var mistake: UInt8?

    /// The hash of the client, of a request that came at `arrival`.
    func clientHash(arrival: Int64) -> UInt64 { clientHashes[arrival < Fixture.rotation ? 0 : 1] }
  }

  var number: Int
  var form: Form
  var content: Content
  /// The ad; nil for a failure without one.
  var terms: ServedTerms?
  var age: Int64?
  var claimedTime: Int64?
  var message: OutgoingMessage

  /// For a person who reads a failure.
  var summary: String {
    "event \(number): \(form), \(content), partition \(terms?.partition ?? -1), "
      + "issued \(terms?.issuedAt.milliseconds ?? 0), age \(age ?? -1), claimed \(claimedTime ?? 0)"
  }
}
