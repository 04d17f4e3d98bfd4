import AdCore
import AdSelectionCore
import BillingCore
import ClickTrackingCore
import Crypto
import ImpressionTrackingCore

/// What all worlds of one thread share because it costs time to make: keys and services.
final class Fixture {
  let ring: KeyRing
  let sealer: ServeTokenSealer
  let opener: ServeTokenOpener
  /// Signs with a key that nobody else knows.
  let foreignSealer: ServeTokenSealer
  let hasher: ClientHasher
  let mac: MessageMAC
  let liveKeyHash = SHA256.hash(CatalogPlan.liveKey.utf8)
  let testKeyHash = SHA256.hash(CatalogPlan.testKey.utf8)
  /// Who got ads, by the hashes in their tokens.
  private var clients: [UInt64: [UInt8]] = [:]

  /// The hash of a client, or else of a session. There is one key, whenever it is.
  func clientHash(_ clientID: String, sessionID: String = "") -> UInt64 {
    let hash = hasher.hash(
      app: Samples.terms.app, clientID: clientID, sessionID: sessionID, now: Timestamp(milliseconds: 0))
    clients[hash] = Array((clientID.isEmpty ? sessionID : clientID).utf8)
    return hash
  }

  /// The key of all that the client with this hash sends.
  func client(of hash: UInt64) -> [UInt8]? { clients[hash] }

  /// The live one first.
  var appKeys: [AppKey] {
    [
      AppKey(app: Samples.terms.app, build: .distribution, keyHash: liveKeyHash),
      AppKey(app: Samples.terms.app, build: .developer, keyHash: testKeyHash),
    ]
  }
  let adSelection: AdSelection
  let impressionTracking: ImpressionTracking
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

  init() throws {
    ring = try KeyRing(keys: [KeyRing.Key(id: 1, secret: Array(repeating: 7, count: 32))])
    let foreign = try KeyRing(keys: [KeyRing.Key(id: 9, secret: Array(repeating: 8, count: 32))])
    sealer = try ServeTokenSealer(ring: ring)
    opener = try ServeTokenOpener(ring: ring)
    foreignSealer = try ServeTokenSealer(ring: foreign)
    hasher = try ClientHasher(ring: ring)
    mac = try MessageMAC(ring: ring)
    adSelection = try AdSelection(ring: ring)
    impressionTracking = ImpressionTracking(ring: ring, windows: Self.windows)
    clickTracking = ClickTracking(ring: ring)
    billing = BillingService(ring: ring)
  }
}
