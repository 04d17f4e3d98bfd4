import AdCore
import AdEvents
import ClickTrackingCore
import Crypto
import Postgres
import Runtime
import TestValues
import Testing

@testable import ClickTracking

@Suite("M8: conversions in click tracking's tables")
struct ConversionTablesTests {
  private let now = SystemClock().now
  private let shop: AppID = known(AppID("shop"))

  private func terms(serve: UInt64, daysAgo: Int64 = 0) -> ServedTerms {
    let issuedAt = now.advanced(byMilliseconds: -daysAgo * 86_400_000 - 3_600_000)
    return .sample(serve: serve, partition: ClickPartition.number, issuedAt: issuedAt) {
      ($0.clientHash, $0.isTest) = (serve, false)
    }
  }

  private func told(
    _ kind: ConversionKind, id: UInt64, serve: UInt64, key: String = "shop-key", of app: AppID? = nil,
    daysAgo: Int64 = 0
  ) -> ClickInput {
    .conversion(
      ToldConversion(
        reference: ClickReference(
          serveID: terms(serve: serve, daysAgo: daysAgo).serveID, partition: ClickPartition.number, app: app ?? shop),
        identity: ConversionIdentity(kind: kind, idHash: .max - id), keyHash: SHA256.hash(key.utf8),
        value: Nanos(kind == .purchase ? 4_990_000_000 : 0), currency: kind == .purchase ? Currency("USD") : nil))
  }

  private func impression(_ serve: UInt64) -> ClickInput {
    let terms = terms(serve: serve)
    return .impression(
      AcceptedImpression(
        terms: terms, eventTime: terms.issuedAt.advanced(byMilliseconds: 1_000), arrival: terms.issuedAt))
  }

  private func click(_ serve: UInt64, age: Int64 = 2_000) -> ClickInput {
    .action(
      ActionEvent(
        kind: .click, terms: terms(serve: serve), age: .milliseconds(age), claimedTime: nil, idHash: serve,
        actionMilliseconds: 0, leftApplication: true))
  }

  /// A partition, and a catalogue of these apps.
  private func partition(of apps: String...) async throws -> ClickPartition {
    let partition = try await ClickPartition(now: now)
    try partition.connection.executeScript(
      (apps + ["shop"]).map { app in
        """
        INSERT INTO catalog.record (key, kind, body, version, change_number) VALUES ('app-key/\(app)', 'app-key',
          jsonb_build_object('app', '\(app)', 'build', 'distribution', 'isRevoked', false,
            'keyHash', encode(sha256('\(app)-key'), 'hex')), 1, nextval('catalog.change_number')),
          ('app/\(app)', 'app', jsonb_build_object('isUnder17', false), 1, nextval('catalog.change_number'));
        """
      }.joined())
    return partition
  }

  private func counted(_ partition: ClickPartition) throws -> [String] {
    try partition.connection.query(
      """
      SELECT concat_ws(' ', kind, conversions, app, told_by, currency, value_nanos) FROM reporting.conversion
      ORDER BY kind, told_by
      """
    ).map { try $0.decode(0) }
  }

  @Test("M8: it is put down to its ad if its click counts, in whichever order the two come, once, across owners")
  func attributed() async throws {
    let partition = try await partition()
    let app = terms(serve: 1).app.text
    // Before its click, and before its view.
    try partition.run([told(.install, id: 1, serve: 1), told(.install, id: 2, serve: 1)])
    #expect(try counted(partition).isEmpty)
    try partition.run([click(1)])
    #expect(try counted(partition).isEmpty)
    try partition.run([impression(1)])
    #expect(try counted(partition) == ["install 1 \(app) shop 0"])
    try partition.takeOver()
    try partition.run([told(.install, id: 3, serve: 1)])
    try partition.run([
      told(.purchase, id: 4, serve: 1), told(.purchase, id: 5, serve: 1), told(.purchase, id: 4, serve: 1),
    ])
    try partition.takeOver()
    try partition.run([told(.purchase, id: 5, serve: 1)])
    #expect(try counted(partition) == ["install 1 \(app) shop 0", "purchase 2 \(app) shop USD 9980000000"])
    #expect(try partition.count("SELECT count(*) FROM click_tracking.conversion") == 3)
    // A click that does not count: a second one within the client's minute is another serve's; here none came at all.
    try partition.run([impression(2), told(.install, id: 6, serve: 2)])
    #expect(try counted(partition).count == 2)
    #expect(try partition.count("SELECT count(*) FROM click_tracking.conversion") == 4)
  }

  /// Whoever opens the partition reads clicks by the first and the last of these ads, and a day with such a batch that is not
  /// counted is not sealed.
  @Test("M8: a conversion of an ad of weeks ago does not widen what its batch's other rows are read by")
  func old() async throws {
    let partition = try await partition()
    try partition.connection.executeScript(
      "SELECT public.keep_days('click_tracking.conversion', current_date, 21, 1, 400, 1)")
    try partition.run([impression(1), click(1), told(.install, id: 1, serve: 2, daysAgo: 20)])
    try partition.run([told(.install, id: 2, serve: 3, daysAgo: 20)])
    #expect(try partition.count("SELECT count(*) FROM click_tracking.conversion") == 2)
    let bounds = try partition.connection.query(
      "SELECT concat_ws(' ', first_serve_id, last_serve_id) FROM click_tracking.batch ORDER BY batch_number")
    let serve = terms(serve: 1).serveID
    #expect(try bounds.map { try $0.decode(0) as String } == ["\(serve) \(serve)", ""])
  }

  @Test("M8: what an app tells of an ad that it showed itself counts for nobody; nor does what another app tells")
  func own() async throws {
    let app = terms(serve: 1).app
    let partition = try await partition(of: app.text)
    try partition.run([impression(1), click(1), told(.install, id: 1, serve: 1, key: "\(app)-key", of: app)])
    try partition.run([
      told(.other, id: 2, serve: 1, key: "nobody's-key"), told(.other, id: 3, serve: 1, key: "\(app)-key"),
    ])
    #expect(try partition.count("SELECT count(*) FROM click_tracking.conversion") == 1)
    #expect(try counted(partition).isEmpty)
    #expect(
      try partition.count(
        "SELECT count(*) FROM click_tracking.rejected WHERE reason = \(RejectionReason.appKeyWrong.number)") == 2)
  }

  @Test("A4, M8: of an app for users under 17, or of which nobody has said it yet, nothing is kept")
  func under17() async throws {
    let partition = try await partition()
    for answer in ["true", "null"] {
      try partition.connection.executeScript(
        "UPDATE catalog.record SET body = '{\"isUnder17\": \(answer)}' WHERE key = 'app/shop'")
      try partition.run([told(.install, id: 1, serve: 1)])
    }
    try partition.connection.executeScript("UPDATE catalog.record SET deleted_at = now() WHERE key = 'app/shop'")
    try partition.run([told(.install, id: 1, serve: 1)])
    #expect(try partition.count("SELECT count(*) FROM click_tracking.conversion") == 0)
    #expect(try partition.count("SELECT count(*) FROM click_tracking.rejected") == 0)
  }

  @Test("M8: whatever else goes wrong, the database takes one install of a click, and each purchase")
  func guarded() async throws {
    let partition = try await partition()
    try partition.run([told(.install, id: 1, serve: 1), told(.purchase, id: 1, serve: 1)])
    func again(_ kind: ConversionKind) throws {
      try partition.connection.executeScript(
        """
        INSERT INTO click_tracking.conversion (serve_id, id_hash, batch_number, value, event_time, arrival, partition, kind,
          is_test, app, currency)
        SELECT serve_id, \(ConversionIdentity(kind: kind, idHash: 2).idHash), batch_number + 1, value, event_time, arrival,
          partition, kind, is_test, app, currency
        FROM click_tracking.conversion WHERE kind = \(kind.number)
        """)
    }
    try again(.purchase)
    let refused = #expect(throws: PostgresError.self) { try again(.install) }
    #expect("\(String(describing: refused))".contains("duplicate key"))
  }

  @Test("A8: of what came without consent there is a count, and no row, no message, no bytes")
  func consent() async throws {
    let partition = try await partition()
    try partition.run([.rejected(Rejection(.consentMissing, "conversion.has_consent is not true"))])
    #expect(try partition.count("SELECT count(*) FROM click_tracking.rejected") == 0)
    #expect(try partition.count("SELECT count(*) FROM click_tracking.outbox") == 0)
    #expect(
      try partition.count(
        """
        SELECT count(*) FROM click_tracking.batch
        WHERE get_byte(outcomes, 0) = \(RejectionReason.consentMissing.number)
        """) == 1)
  }
}
