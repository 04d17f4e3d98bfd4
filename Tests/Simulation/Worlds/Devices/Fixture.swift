import AdCore
import AdSelectionCore
import BillingCore
import ClickTrackingCore
import Crypto
import ImpressionTrackingCore

/// What all worlds of one thread share because it costs time to make: keys and services.
final class Fixture {
  let ring: KeyRing
  let issuer: ServeTokenIssuer
  let opener: ServeTokenOpener
  /// Signs with a key that nobody else knows.
  let foreignIssuer: ServeTokenIssuer
  let hasher: ClientHasher
  let mac: MessageMAC
  /// Who got ads, by the hashes in their tokens.
  private var clients: [UInt64: [UInt8]] = [:]

  /// When tokens are issued under the second key.
  static let rotation = VirtualTime.start + 20_000

  /// Whether a token of `issued` is opened by nobody any more when it comes at `arrival`.
  static func isKeyGone(issued: Timestamp, arrival: Int64) -> Bool {
    issued.milliseconds < rotation && arrival > rotation + 27 * 3_600_000
  }

  /// The hash of a client, or else of a session, of whom something comes at `now`.
  func clientHash(_ app: AppID, _ clientID: String, sessionID: String = "", now: Int64) -> UInt64 {
    let hash = hasher.hash(
      app: app, clientID: clientID, sessionID: sessionID, now: Timestamp(milliseconds: now))
    clients[hash] = Array((clientID.isEmpty ? sessionID : clientID).utf8)
    return hash
  }

  /// The key of all that the client with this hash sends.
  func client(of hash: UInt64) -> [UInt8]? { clients[hash] }

  /// Those of all apps, whether or not a world has them.
  let appKeys = Samples.apps.flatMap { app in
    [BuildKind.distribution, .developer].map { build in
      AppKey(app: app, build: build, keyHash: SHA256.hash(CatalogPlan.key(of: app, build).utf8))
    }
  }
  let adSelection: AdSelection
  let impressionTracking: ImpressionTracking
  /// One that opens tokens of every key for ever.
  private let timelessImpressionTracking: ImpressionTracking
  let clickTracking: ClickTracking
  let billing: BillingService

  /// The defaults, but an ad is seen after a fifth of a second, else most views of these devices could not be; and few
  /// clicks of a client are judged in a day.
  static let windows = {
    var windows = Windows()
    windows.viewMilliseconds = Devices.viewTime
    windows.judgedClicksOfClientPerDay = Devices.judgedClicksOfClientPerDay
    return windows
  }()

  func impressionTracking(_ sabotage: Sabotage?) -> ImpressionTracking {
    sabotage == .keepOldKeys ? timelessImpressionTracking : impressionTracking
  }

  init() throws {
    let first = try KeyRing.Key(id: 1, secret: Array(repeating: 7, count: 32))
    let secret = [UInt8](repeating: 6, count: 32)
    ring = try KeyRing(
      keys: [first, KeyRing.Key(id: 2, secret: secret, signsFrom: Timestamp(milliseconds: Self.rotation))])
    // Nobody says when the first was used last.
    let timeless = try KeyRing(keys: [first, KeyRing.Key(id: 2, secret: secret)])
    let foreign = try KeyRing(keys: [KeyRing.Key(id: 9, secret: Array(repeating: 8, count: 32))])
    issuer = try ServeTokenIssuer(ring: ring)
    opener = try ServeTokenOpener(ring: ring)
    foreignIssuer = try ServeTokenIssuer(ring: foreign)
    hasher = try ClientHasher(ring: ring)
    mac = try MessageMAC(ring: ring)
    adSelection = try AdSelection(ring: ring)
    impressionTracking = ImpressionTracking(ring: ring, windows: Self.windows)
    timelessImpressionTracking = ImpressionTracking(ring: timeless, windows: Self.windows)
    clickTracking = ClickTracking(ring: ring)
    billing = BillingService(ring: ring)
  }
}
