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
