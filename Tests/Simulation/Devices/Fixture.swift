import AdCore
import ClickTrackingCore
import ImpressionTrackingCore

/// What all worlds of one thread share because it costs time to make: keys and services.
final class Fixture {
  let ring: KeyRing
  let signer: ServeTokenSigner
  /// Signs with a key that nobody else knows.
  let foreignSigner: ServeTokenSigner
  let impressionTracking: ImpressionTracking
  let clickTracking: ClickTracking

  init() throws {
    ring = try KeyRing(keys: [KeyRing.Key(id: 1, secret: Array(repeating: 7, count: 32))])
    let foreign = try KeyRing(keys: [KeyRing.Key(id: 9, secret: Array(repeating: 8, count: 32))])
    signer = try ServeTokenSigner(ring: ring)
    foreignSigner = try ServeTokenSigner(ring: foreign)
    impressionTracking = try ImpressionTracking(ring: ring, windows: Windows())
    clickTracking = try ClickTracking(ring: ring)
  }
}
