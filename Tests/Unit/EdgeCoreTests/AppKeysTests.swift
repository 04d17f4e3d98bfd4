import AdCore
import AdEvents
import Crypto
import TestValues
import Testing

@testable import EdgeCore

@Suite("A1: app keys as the catalogue tells them")
struct AppKeysTests {
  private static let weather = known(AppID("weather"))
  private static func key(_ text: String, of app: AppID = weather, isRevoked: Bool = false) -> CatalogRecord {
    .appKey(AppKey(app: app, build: .distribution, keyHash: SHA256.hash(text.utf8), isRevoked: isRevoked))
  }

  private static func heartbeat(_ records: Int64, _ sum: Int64) -> CatalogMessage {
    .heartbeat(records: records, versionSum: sum, at: .sample, stop: nil, change: 0)
  }

  @Test("before all is read an unknown key is nobody's fault; after it, it is the client's")
  func complete() {
    var keys = AppKeys()
    keys.apply(.record(.app(.sample()), version: 3))
    guard case .failure(.unavailable) = keys.app(ofKey: "live", named: nil) else {
      Issue.record("an unknown key was judged too early")
      return
    }
    keys.apply(Self.heartbeat(2, 7))
    #expect(!keys.isComplete)
    keys.apply(.record(Self.key("live"), version: 4))
    // What is known is served even before.
    #expect(keys.app(ofKey: "live", named: nil) == .success(Self.weather))
    keys.apply(Self.heartbeat(2, 8))
    #expect(!keys.isComplete)
    keys.apply(Self.heartbeat(2, 7))
    #expect(keys.isComplete)
    guard case .failure(let refusal) = keys.app(ofKey: "other", named: nil) else {
      Issue.record("an unknown key was taken")
      return
    }
    #expect(refusal.status == 403 && refusal.number == 86 && refusal.retryAfterSeconds == nil)
  }

  @Test("another app's key, a revoked one and a deleted one open nothing; old versions change nothing")
  func changes() {
    var keys = AppKeys()
    keys.apply(.record(Self.key("live"), version: 5))
    keys.apply(Self.heartbeat(1, 5))
    #expect(keys.app(ofKey: "live", named: Self.weather) == .success(Self.weather))
    #expect((try? keys.app(ofKey: "live", named: known(AppID("chess"))).get()) == nil)
    keys.apply(.record(Self.key("live", isRevoked: true), version: 6))
    keys.apply(.record(Self.key("live"), version: 5))
    #expect((try? keys.app(ofKey: "live", named: nil).get()) == nil)
    keys.apply(.record(Self.key("live"), version: 7))
    #expect(keys.app(ofKey: "live", named: nil) == .success(Self.weather))
    keys.apply(.deleted(key: Self.key("live").key, version: 8))
    #expect((try? keys.app(ofKey: "live", named: nil).get()) == nil)
    keys.applyTombstone(key: Self.key("live").key)
    keys.apply(Self.heartbeat(0, 0))
    #expect(keys.isComplete)
  }
}
