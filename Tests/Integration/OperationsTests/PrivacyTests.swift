import AdCore
import JSON
import LocalProcesses
import Postgres
import TestServices
import TestValues
import Testing

@testable import Operations

@Suite("A8: what a person may ask for")
struct PrivacyTests {
  private static let now = Timestamp(milliseconds: 1_899_043_200_000)  // 2030-03-06T16:00Z
  /// Of the fixture's serves: one that was seen and tapped.
  private static let client: UInt64 = 1

  private func reconcile(_ days: SealingTests.Days) throws -> Reconciliation {
    let result = try Reconciler(days.pool).reconcile()
    #expect(result.checks.contains { $0.rule == "I7b" && $0.compared > 0 })
    return result
  }

  @Test("a client's requests are exported with what became of them, and without anybody's prices")
  func export() async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      try days.run(
        """
        SELECT public.keep_days('click_tracking.conversion', '2030-03-02', 5, 1, 20);
        INSERT INTO click_tracking.conversion (serve_id, id_hash, batch_number, value, event_time, arrival, partition, kind,
          is_test, app, currency)
        SELECT serve_id, 1, 1, 0, event_time, arrival, partition, \(ConversionKind.install.number), false, 'shop', ''
        FROM click_tracking.click WHERE client_hash = \(Self.client);
        UPDATE ad_selection.decision SET edge_flags = 1 | 8 | (vocabulary.agent_class('app') << 4), edge_network = 255
        WHERE client_hash = \(Self.client);
        """)
      let data = ClientData(days.pool, hashes: [Self.client, 4_711])
      let found = try data.export()
      #expect(found.count == 1)
      let request = try #require(found.first)
      #expect(request["app"] == "app1" && request["outcome"] == "served" && request["device"] == "phone")
      #expect(request["seenAt"]?.textValue?.hasPrefix("2030-03-01T00:25") == true, "\(request.prettyText)")
      #expect(request["taps"]?.elements?.count == 1)
      let edge = try #require(request["edge"])
      #expect(edge["agent"] == "app" && edge["isKnownBot"] == true && edge["network"] == "000000ff")
      #expect(request["conversions"]?.elements?.map { $0["what"] } == ["install"], "\(request.prettyText)")
      #expect(request["conversions"]?.elements?.map { $0["app"] } == ["shop"])
      #expect(!request.compactText.contains("price"))
      #expect(try ClientData(days.pool, hashes: [4_711]).export().isEmpty)
    }
  }

  @Test("erased, a client is in no table; charges stay, and all accounts agree, also of what comes after it")
  func erase() async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      let charges = try days.number("SELECT count(*) FROM billing.charge")
      let data = ClientData(days.pool, hashes: [Self.client])
      // A tap of theirs that is not decided yet.
      try days.run(
        """
        INSERT INTO click_tracking.parked_row SELECT (jsonb_populate_record(NULL::click_tracking.parked_row,
          to_jsonb(c) || '{"record_offset": 0, "is_accidental": false, "expires_at": "2030-03-01"}')).*
        FROM click_tracking.click_row c WHERE client_hash = \(Self.client)
        """)
      let erased = try data.erase(now: Self.now)
      #expect(erased.requests == 1)
      // 15 min and 5 of a token's life, an hour until the tap, a day that it may be late.
      #expect(erased.againAfter.map { $0 > Self.now.advanced(byMilliseconds: 25 * 3_600_000) } == true)
      for table in [
        "ad_selection.decision", "impression_tracking.impression_row", "click_tracking.click_row",
      ] {
        #expect(try days.number("SELECT count(*) FROM \(table) WHERE client_hash = \(Self.client)") == 0, "\(table)")
        #expect(try days.number("SELECT count(*) FROM \(table) WHERE client_hash = 0") > 0)
      }
      // It keeps its client until it is decided, and is taken out then.
      #expect(try days.number("SELECT count(*) FROM click_tracking.parked_row WHERE client_hash = \(Self.client)") == 1)
      try days.run("DELETE FROM click_tracking.parked_row")
      #expect(try data.export().isEmpty)
      #expect(try data.erase(now: Self.now) == ClientData.Erased(requests: 0))
      #expect(try days.number("SELECT count(*) FROM billing.charge") == charges)
      #expect(try reconcile(days).differences == 0)

      // An impression that was in flight comes with its client; one with another client is a difference.
      let first =
        "serve_id = (SELECT serve_id FROM impression_tracking.impression_row "
        + "WHERE client_hash = 0 LIMIT 1)"
      try days.run("UPDATE impression_tracking.impression_row SET client_hash = \(Self.client) WHERE \(first)")
      #expect(try reconcile(days).differences == 0)
      try days.run("UPDATE impression_tracking.impression_row SET client_hash = client_hash + 1 WHERE client_hash = 2")
      #expect(try reconcile(days).checks.filter { $0.differences > 0 }.map(\.rule) == ["I7b"])
    }
  }

  @Test("a client's hashes are those of every key of the ring, as a client and as a session, and of this app alone")
  func hashes() throws {
    let (first, second) = (KeyRing.sample(1), KeyRing.sample(1, 2))
    let app = try #require(AppID("weather"))
    let other = try #require(AppID("news"))
    let now = Timestamp.sample
    let hashes = try ClientHasher(ring: second).hashes(app: app, id: "c-1")
    #expect(hashes.count == 4 && Set(hashes).count == 4)
    for ring in [first, second] {
      let hash = try ClientHasher(ring: ring).hash(app: app, clientID: "c-1", sessionID: "s", now: now)
      #expect(hashes.contains(hash))
      #expect(
        try !hashes.contains(ClientHasher(ring: ring).hash(app: other, clientID: "c-1", sessionID: "s", now: now)))
      // Where an app sends no client id, its users are known by their session.
      #expect(try hashes.contains(ClientHasher(ring: ring).hash(app: app, clientID: "", sessionID: "c-1", now: now)))
    }
  }
}
