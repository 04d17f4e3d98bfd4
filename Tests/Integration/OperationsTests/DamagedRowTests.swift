import Testing

@testable import Operations

/// Whoever can write to the database changes one row behind the services' back: the comparison names what differs.
@Suite("Damaged rows")
struct DamagedRowTests {
  private static let click = "kind = vocabulary.charge_kind('click')"
  private static let serve = ReconciliationTests.serve

  /// The impression's charge in so many packs, of one after the other batch.
  private static func packs(_ count: Int) -> String {
    """
    INSERT INTO billing.charge_pack
    SELECT (left(serve_id::text, 35) || n)::uuid, serve_id, batch_number + n, partition, kind, fate, ARRAY[serve_id],
      ARRAY[event_time], ARRAY[terms], ARRAY[allotment], ARRAY[budget_day], ARRAY[device], ARRAY[size], ARRAY[country],
      ARRAY[placement]
    FROM billing.charge_row, generate_series(0, \(count - 1)) AS n WHERE NOT \(click);
    """
  }

  /// A change, the rule that it breaks, and how its example begins.
  private static let changes: [(change: String, rule: String, example: String)] = [
    // Amounts and their split follow from terms and fate: only the terms of a charge can be changed.
    (
      "UPDATE billing.terms SET click_price = 900000000", "I7a",
      "\(serve): price 2000000000, share 6000 in its token, 900000000 and 6000 in its charge; fate 1 of kind 2, to be paid; "
        + "the advertiser pays 900000000, the developer gets 540000000, the network 360000000"
    ),
    (
      "UPDATE billing.terms SET share_basis_points = 10000", "I7a",
      "\(serve): price 10000000, share 6000 in its token, 10000000 and 10000 in its charge; fate 1 of kind 1, to be paid; "
        + "the advertiser pays 10000000, the developer gets 10000000, the network 0"
    ),
    ("UPDATE billing.terms SET developer = 'thief'", "I7a", "\(serve): its charge says something else of it"),
    ("UPDATE billing.charge_row SET country = 'JP' WHERE \(click)", "I7a", "\(serve): its charge says something else"),
    (
      "UPDATE billing.charge_row SET event_time = now() WHERE \(click)", "I7a",
      "\(serve): its charge says something else"
    ),
    // What everything costs is changed at its one place.
    (
      """
      CREATE OR REPLACE FUNCTION billing.developer_part(amount bigint, share_basis_points int) RETURNS bigint
      LANGUAGE sql IMMUTABLE AS 'SELECT amount'
      """, "I7a",
      "\(serve): price 10000000, share 6000 in its token, 10000000 and 6000 in its charge; fate 1 of kind 1, to be paid; "
        + "the advertiser pays 10000000, the developer gets 10000000, the network 0"
    ),
    (
      """
      CREATE OR REPLACE FUNCTION billing.amounts(kind smallint, fate smallint, impression_price bigint, click_price bigint,
        share_basis_points int
      ) RETURNS TABLE (price bigint, amount bigint, developer_amount bigint, network_amount bigint)
      LANGUAGE sql IMMUTABLE AS $$
        SELECT p.price, p.price + 1, p.part, p.price + 1 - p.part
        FROM (SELECT b.price, billing.developer_part(b.price, share_basis_points) AS part
          FROM (SELECT CASE kind WHEN vocabulary.charge_kind('impression') THEN impression_price ELSE click_price END AS price) AS b) AS p
      $$
      """, "I7a",
      "\(serve): price 10000000, share 6000 in its token, 10000000 and 6000 in its charge; fate 1 of kind 1, to be paid; "
        + "the advertiser pays 10000001, the developer gets 6000000, the network 4000001"
    ),
    (
      """
      CREATE OR REPLACE FUNCTION billing.amounts(kind smallint, fate smallint, impression_price bigint, click_price bigint,
        share_basis_points int
      ) RETURNS TABLE (price bigint, amount bigint, developer_amount bigint, network_amount bigint)
      LANGUAGE sql IMMUTABLE AS 'SELECT impression_price, impression_price, 6000000::bigint, 4000001::bigint
        WHERE kind = vocabulary.charge_kind(''impression'')'
      """, "I7a",
      "\(serve): price 10000000, share 6000 in its token, 10000000 and 6000 in its charge; fate 1 of kind 1, to be paid; "
        + "the advertiser pays 10000000, the developer gets 6000000, the network 4000001"
    ),
    // What was agreed is changed everywhere.
    (
      ["ad_selection", "impression_tracking", "click_tracking", "billing"].map {
        "UPDATE \($0).terms SET click_price = 900000000;"
      }.joined(), "I2", "terms "
    ),
    // Fates.
    (
      "DELETE FROM billing.charge_row WHERE kind = vocabulary.charge_kind('impression')", "I7a",
      "\(serve) is accepted and has no fate"
    ),
    (
      """
      INSERT INTO billing.charge_row SELECT (jsonb_populate_record(c, '{"id_hash": 10}')).* FROM billing.charge_row c
      WHERE \(click)
      """, "I7a", "\(serve) has a fate and was not accepted"
    ),
    (
      """
      INSERT INTO billing.suspense (partition, batch_number, kind, sequence, serve_id, id_hash, event_time, arrival, price,
        allotment, app, advertiser, campaign, currency)
      SELECT partition, batch_number, kind, 1, serve_id, id_hash, event_time, event_time, price, allotment, app, advertiser,
        campaign, currency FROM billing.charge WHERE \(click)
      """, "I7a", "\(serve) has more than one fate: charge, suspense"
    ),
    (
      """
      INSERT INTO billing.waiting_row (serve_id, batch_number, event_time, id_hash, terms, allotment, price, partition,
        budget_day, position, kind, device, size, advertiser, campaign, currency, country, placement)
      SELECT serve_id, batch_number, event_time, id_hash, terms, allotment, 2000000000, partition, budget_day, 1, kind, device,
        size, 'adv', 'camp', 'USD', country, placement FROM billing.charge_row WHERE \(click)
      """, "I7a", "\(serve) has more than one fate: charge, waiting"
    ),
    // No key says of a pack that its events have no other charge.
    (packs(1), "I7a", "\(serve) has more than one fate: charge, charge"),
    (
      packs(2) + "DELETE FROM billing.charge_row WHERE NOT \(click);", "I7a",
      "\(serve) has more than one fate: charge, charge"
    ),
    (
      "UPDATE billing.charge_row SET fate = vocabulary.charge_fate('freeLimited') WHERE \(click)", "I7a",
      "\(serve): price 2000000000, share 6000 in its token, 2000000000 and 6000 in its charge; fate 22 of kind 2, to be paid"
    ),
    (
      "UPDATE click_tracking.click_row SET verdict = vocabulary.click_verdict('limited')", "I7a",
      "\(serve): price 2000000000, share 6000 in its token, 2000000000 and 6000 in its charge; fate 1 of kind 2, to be "
        + "22"
    ),
    ("UPDATE billing.charge_row SET kind = kind + 1 WHERE \(click)", "I7a", "\(serve): "),
    // The ledger: what nobody charged goes to somebody, within the network or out of it.
    (
      """
      INSERT INTO billing.posting VALUES (0, 2, 'network:revenue', 'USD', 5, 0), (0, 2, 'thief', 'USD', 0, 5);
      INSERT INTO billing.balance VALUES (0, 'thief', 'USD', 0, 5);
      UPDATE billing.balance SET debit = 5 WHERE account = 'network:revenue'
      """, "I6", "network:revenue: charges -804000000, postings -803999995 USD (nanos)"
    ),
    (
      """
      INSERT INTO billing.posting VALUES (0, 2, 'network:revenue', 'USD', 0, 5), (0, 2, 'network:unfunded', 'USD', 5, 0);
      INSERT INTO billing.balance VALUES (0, 'network:unfunded', 'USD', 5, 0);
      UPDATE billing.balance SET credit = credit + 5 WHERE account = 'network:revenue'
      """, "I6", "network:revenue: charges -804000000, postings -804000005 USD (nanos)"
    ),
    // Rejections.
    (
      "\(rejected)UPDATE impression_tracking.rejected SET reason = reason + 1", "I3",
      "ads.impressions[0] offset 2: rejected with reason 65, its outcome is 64"
    ),
    (
      "\(rejected)UPDATE impression_tracking.batch SET outcomes = '\\x010202'", "I3",
      "ads.impressions[0] offset 2: rejected with reason 64, its outcome is 2"
    ),
  ]

  /// The third record of the batch was rejected.
  private static let rejected = """
    INSERT INTO impression_tracking.rejected (partition, topic, record_offset, batch_number, arrival, reason, detail,
      value_length, value_hash) VALUES (0, 'ads.impressions', 2, 1, now(), 64, '', 0, '');

    """

  @Test("each is named", arguments: 0..<changes.count)
  func named(index: Int) async throws {
    let (change, rule, example) = Self.changes[index]
    let result = try await ReconciliationTests().reconcile(after: change)
    let examples = result.checks.filter { $0.rule == rule }.flatMap(\.examples)
    #expect(examples.contains { $0.hasPrefix(example) }, "\(result.text)")
    #expect(!result.isClean)
  }

  @Test("a rejection that is kept is compared with its outcome; where none is, nothing is compared")
  func rejections() async throws {
    for (change, compared) in [(Self.rejected, "1 0"), ("", "0 nothing compared")] {
      let result = try await ReconciliationTests().reconcile(after: change)
      #expect(result.differences == 0, "\(result.text)")
      let check = try #require(
        result.checks.first { $0.name == "impression_tracking: rejected records have their reason as outcome" })
      #expect("\(check.compared) \(check.result)" == compared)
    }
  }

  @Test("what a person voided, and what waits for a person, is one fate")
  func suspended() async throws {
    let moved = """
      INSERT INTO billing.suspense (partition, batch_number, kind, sequence, serve_id, id_hash, event_time, arrival, price,
        allotment, app, advertiser, campaign, currency)
      SELECT partition, batch_number, kind, 1, serve_id, id_hash, event_time, event_time, price, allotment, app, advertiser,
        campaign, currency FROM billing.charge WHERE \(Self.click);
      DELETE FROM billing.charge_row WHERE \(Self.click);
      """
    for change in ["", "UPDATE billing.suspense SET voided_at = now(), void_reason = 'paid by hand'"] {
      let result = try await ReconciliationTests().reconcile(after: moved + change)
      #expect(result.checks.filter { $0.rule == "I7a" }.allSatisfy { $0.differences == 0 }, "\(result.text)")
      #expect(result.suspense == (change.isEmpty ? 1 : 0))
    }
  }
}
