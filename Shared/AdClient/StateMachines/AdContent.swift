public import AdBasics

/// An ad as the client holds it: what to draw, what a tap does, how long it lives, and the token that its events carry.
public struct AdContent: Hashable, Sendable {
  /// The shortest and the longest life of a full-screen ad's content that a client takes, in milliseconds: the network's
  /// settings decide, within D5's figures by default.
  package static let interstitialLifetimeMilliseconds: ClosedRange<Int64> = 60_000...3_600_000
  /// The longest serve token that a client takes, in bytes.
  package static let tokenBytesMaximum = 1_024

  public let ad: AdID
  /// The URL of the image for each size; a path where it lies at an edge that the client does not know.
  public let images: [AdSize: String]
  /// What those images must be, of each whose hash the network knows.
  public let imageContents: [AdSize: ImageReference.Contents]
  /// What a tap does (D11).
  public let action: AdAction
  /// How long the content lives after loading, in milliseconds (D5).
  public let lifetimeMilliseconds: Int64
  /// Test ads are never billed (A2).
  public let isTest: Bool
  /// The id of this served ad: what to name to the network's support; `handbill explain` takes it.
  public let serveID: ServeID
  /// The request that it answers.
  public let requestID: UUIDv7
  /// What its impression brings the developer.
  public let revenue: AdRevenue
  /// What the network's answer says that the client goes by.
  package var pacing: AdPacing?
  /// Opaque to the client; sent back in each event.
  package let token: [UInt8]
  /// The network took no client id for it, as in apps for users under 17: its events count under the session id (A4, A8).
  package var countsBySession = false
  /// The client id, else the session id, that it was served to; nil for the present one.
  package var partitionKey: String?
  /// When the answer came: the zero of the ages of this ad's events.
  package var answeredAt: MonotonicTime

  package init(
    ad: AdID, images: [AdSize: String], action: AdAction, lifetimeMilliseconds: Int64, isTest: Bool, serveID: ServeID,
    requestID: UUIDv7, token: [UInt8], answeredAt: MonotonicTime, revenue: AdRevenue = .none,
    imageContents: [AdSize: ImageReference.Contents] = [:]
  ) {
    self.imageContents = imageContents
    self.serveID = serveID
    self.requestID = requestID
    self.ad = ad
    self.images = images
    self.action = action
    self.lifetimeMilliseconds = lifetimeMilliseconds
    self.isTest = isTest
    self.revenue = revenue
    self.token = token
    self.answeredAt = answeredAt
  }

  /// True when it has a token, an image for every size asked for (S4) and is not past its life; else it is error 9.
  package func isValid(for sizes: some Sequence<AdSize>, at now: MonotonicTime) -> Bool {
    (1...AdContent.tokenBytesMaximum).contains(token.count)
      && now.milliseconds(since: answeredAt) < lifetimeMilliseconds
      && sizes.allSatisfy { images[$0]?.isEmpty == false }
  }
}

/// What came of one request.
package enum RequestResult: Hashable, Sendable {
  case ad(AdContent)
  /// The network's own error, with its sentence for developers: it knows of it already.
  case error(AdError, detail: String = "")
  /// No decision of the network's: somebody on the way has no time for it now.
  case unavailable(AdError, detail: String, retryAfterMilliseconds: Int64)
  /// What came is no answer to this request that a client can read (error 9).
  case invalid
  /// None came before the deadline (error 1).
  case noAnswer
}

/// Something that the network is to be told.
package struct AdReport: Hashable, Sendable {
  package typealias Kind = AdHappening

  package enum Subject: Hashable, Sendable {
    case ad(AdContent)
    /// The request of this number, for errors that happen without an ad (M6).
    case request(Int)
  }

  package let kind: Kind
  package let subject: Subject
  /// The moment that the event's age is taken at: for clicks, the tap.
  package let at: MonotonicTime

  package init(_ kind: Kind, _ subject: Subject, at: MonotonicTime) {
    self.kind = kind
    self.subject = subject
    self.at = at
  }
}
