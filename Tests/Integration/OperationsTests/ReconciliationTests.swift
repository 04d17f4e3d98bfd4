import AdCore
import Foundation
import JSON
import LocalProcesses
import Postgres
import TestServices
import TestValues
import Testing

@testable import Operations

@Suite("Reconciliation")
struct ReconciliationTests {
  static let serve = "01983b0a-0000-7000-8000-000000000001"
  private static let terms = """
    '2030-01-01 00:15Z', 'app', 'dev', 'adv', 'camp', 'ad', 'home', 'US', 1::smallint, 1::smallint, 10000000, 2000000000,
    'USD', 6000, 5, 14611, 77, false
    """

  /// One served ad with its impression and its click, from the decision to the ledger, as the services write it.
  static let served = """
    SELECT public.keep_days(t::regclass, '2025-07-24', 1, 1, 400000) FROM unnest(ARRAY['ad_selection.decision_row',
      'impression_tracking.impression_row', 'impression_tracking.delivery_row', 'impression_tracking.delivery_pack',
      'click_tracking.click_row', 'billing.charge_row', 'billing.charge_pack']) AS t;
    INSERT INTO ad_selection.decision (serve_id, partition, expires_at, app, developer, advertiser, campaign, ad, placement,
      country, device, size, impression_price, click_price, currency, share_basis_points, allotment, budget_day,
      client_hash, is_test, batch_number, request_id, arrival, deadline, outcome, reason, lifetime_milliseconds, image_sizes,
      image_urls, action, destination, reserved, expected_value, candidates, outbid, excluded_reasons, excluded_counts)
    SELECT '\(serve)', 0, \(terms), 1, '\(serve)', '2030-01-01Z', '2030-01-01Z', 1, 1, 900000, '{1}', '{u}', 1, 'd', 1, 7, 1,
      0, '{}', '{}';
    INSERT INTO impression_tracking.impression (serve_id, partition, batch_number, sequence, event_time, arrival, expires_at,
      app, developer, advertiser, campaign, ad, placement, country, device, size, impression_price, click_price, currency,
      share_basis_points, allotment, budget_day, client_hash, is_test)
    SELECT '\(serve)', 0, 1, 1, '2030-01-01 00:01Z', '2030-01-01 00:01Z', \(terms);
    INSERT INTO click_tracking.click (serve_id, id_hash, partition, batch_number, sequence, verdict, was_parked, event_time,
      arrival, expires_at, app, developer, advertiser, campaign, ad, placement, country, device, size, impression_price,
      click_price, currency, share_basis_points, allotment, budget_day, client_hash, is_test)
    SELECT '\(serve)', 9, 0, 1, 1, 1, false, '2030-01-01 00:02Z', '2030-01-01 00:02Z', \(terms);
    INSERT INTO ad_selection.minute_count VALUES
      (0, '2030-01-01Z', 1, 'app', 'home', 'camp', 'ad', 'US', 1, 1, false, 1, 1);
    INSERT INTO impression_tracking.minute_count (partition, minute, kind, error, app, campaign, ad, placement, country,
      size, device, is_test, events) VALUES (0, '2030-01-01Z', 2, -1, 'app', 'camp', 'ad', 'home', 'US', 1, 1, false, 1);
    INSERT INTO click_tracking.minute_count (partition, minute, kind, verdict, app, campaign, ad, placement, country, size,
      device, is_test, events) VALUES (0, '2030-01-01Z', 1, 1, 'app', 'camp', 'ad', 'home', 'US', 1, 1, false, 1);
    INSERT INTO impression_tracking.partition (partition, batch_number) VALUES (0, 1);
    INSERT INTO impression_tracking.output VALUES (0, 'ads.impressions.accepted', 2, 1);
    INSERT INTO click_tracking.output VALUES (0, 'ads.clicks.accepted', 2, 1);
    INSERT INTO ad_selection.counted VALUES (0, 1);
    INSERT INTO impression_tracking.counted VALUES (0, 1);
    INSERT INTO click_tracking.counted VALUES (0, 1);
    INSERT INTO billing.counted VALUES (0, 1);
    INSERT INTO impression_tracking.windows VALUES (0, 'HANDBILL_LATE_ARRIVAL', '2025-07-01Z', 86400000);
    INSERT INTO impression_tracking.input (partition, topic, next_offset) VALUES (0, 'ads.impressions', 3);
    INSERT INTO impression_tracking.batch (partition, batch_number, committed_at, watermark, input_topics, first_offsets,
      next_offsets, output_topics, first_sequences, next_sequences, outcomes)
    VALUES (0, 1, now(), now(), '{ads.impressions}', '{0}', '{3}', '{ads.impressions.accepted}', '{1}', '{2}', '\\x010240');
    INSERT INTO billing.input (partition, topic, next_offset, consumed_sequence) VALUES
      (0, 'ads.impressions.accepted', 1, 1), (0, 'ads.clicks.accepted', 1, 1);
    INSERT INTO treasury.account (advertiser, currency, requested, funded, allotted) VALUES
      ('adv', 'USD', 5000000000, 5000000000, 2010000000);
    INSERT INTO treasury.campaign (campaign, advertiser, currency, requested, funded, allotted) VALUES
      ('camp', 'adv', 'USD', 5000000000, 5000000000, 2010000000);
    INSERT INTO treasury.campaign_day (campaign, day, requested, funded, allotted) VALUES
      ('camp', 14611, 5000000000, 5000000000, 2010000000);
    INSERT INTO billing.allotment (id, partition, ordinal, campaign, advertiser, currency, budget_day, granted, amount,
      charged, click_rates, campaign_free, serve_until, batch_number, granted_at, grant_version)
    VALUES (5, 0, 1, 'camp', 'adv', 'USD', 14611, 2010000000, 2010000000, 2010000000, '1000000', 0, now(), 1, now(), 1);
    INSERT INTO billing.charge (serve_id, kind, id_hash, partition, batch_number, event_time, fate, price, allotment,
      budget_day, share_basis_points, app, developer, advertiser, campaign, ad, placement, country, device, size, currency)
    VALUES ('\(serve)', 1, 0, 0, 1, '2030-01-01 00:01Z', 1, 10000000, 5, 14611, 6000, 'app', 'dev', 'adv', 'camp', 'ad',
        'home', 'US', 1, 1, 'USD'),
      ('\(serve)', 2, 9, 0, 1, '2030-01-01 00:02Z', 1, 2000000000, 5, 14611, 6000, 'app', 'dev', 'adv', 'camp', 'ad', 'home',
        'US', 1, 1, 'USD');
    INSERT INTO billing.minute_revenue SELECT partition, date_trunc('minute', event_time), kind, fate, app, developer,
      advertiser, campaign, ad, placement, country, device, size, currency, 1, amount, developer_amount, network_amount
      FROM billing.charge;
    INSERT INTO billing.posting VALUES (0, 1, 'advertiser:adv', 'USD', 2010000000, 0),
      (0, 1, 'developer:dev', 'USD', 0, 1206000000), (0, 1, 'network:revenue', 'USD', 0, 804000000);
    INSERT INTO billing.balance SELECT partition, account, currency, debit, credit FROM billing.posting;
    """

  func reconcile(after change: String = "") async throws -> Reconciliation {
    let pool = try await TestDatabase.pool()
    return try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.executeScript(Self.served)
        if !change.isEmpty { try connection.executeScript(change) }
      }
      return try Reconciler(pool).reconcile()
    }
  }

  @Test("tables that agree have no differences, and it says what is still in flight")
  func clean() async throws {
    let result = try await reconcile()
    #expect(result.differences == 0, "\(result.text)")
    #expect(result.isClean)
    #expect(result.finality.text == "final: 0 of 1 serves; 1 in flight, final by 2030-01-02T00:15:00Z")
    #expect(result.text.hasSuffix("0 differences\n"))
    #expect(result.json["isClean"] == true)
  }

  @Test("a sum of all open rows may take longer than any other statement")
  func patience() async throws {
    var configuration = try await TestDatabase.configuration()
    let (other, eyes) = (try PostgresConnection(configuration), try PostgresConnection(configuration))
    configuration.statementTimeoutMilliseconds = 1_000
    let pool = PostgresPool(configuration, size: 1)
    defer { pool.close() }
    try other.begin()
    _ = try other.query("LOCK TABLE sealed.head IN ACCESS EXCLUSIVE MODE")
    async let checks = onOwnThread { try Reconciler(pool).compareSums() }
    let waited = """
      SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND query_start < clock_timestamp() - interval '1200 milliseconds'
      """
    #expect(try Waiting.until { try eyes.query(waited).first?.decode(0, Int64.self) == 1 })
    try other.commit()
    #expect(try await checks.allSatisfy { $0.differences == 0 })
  }

  @Test("counts that are not written yet are no difference")
  func notCountedYet() async throws {
    let result = try await reconcile(
      after: """
        DELETE FROM ad_selection.minute_count; UPDATE ad_selection.counted SET batch_number = 0;
        DELETE FROM impression_tracking.minute_count; UPDATE impression_tracking.counted SET batch_number = 0;
        DELETE FROM click_tracking.minute_count; UPDATE click_tracking.counted SET batch_number = 0;
        DELETE FROM billing.minute_revenue; DELETE FROM billing.counted;
        """)
    #expect(result.differences == 0, "\(result.text)")
  }

  @Test("an empty database compares nothing, which is not 0 differences")
  func nothing() async throws {
    let pool = try await TestDatabase.pool()
    let result = try await onOwnThread { try Reconciler(pool).reconcile() }
    #expect(!result.isClean)
    #expect(result.text.hasSuffix("nothing compared\n"))
    #expect(result.json["checks"]?.elements?.allSatisfy { $0["differences"] == .null } == true)
  }

  @Test(
    "each thing that was tampered with is found, by the rule that it breaks",
    arguments: [
      ("I3", "UPDATE impression_tracking.input SET next_offset = 4"),
      ("I3", "UPDATE impression_tracking.batch SET outcomes = '\\x01'"),
      ("I3", "UPDATE impression_tracking.partition SET batch_number = 2"),
      ("I3", "UPDATE impression_tracking.output SET next_sequence = 3"),
      ("I5", "UPDATE treasury.account SET allotted = 1"), ("I5", "UPDATE treasury.campaign SET charged = 1"),
      ("I5", "UPDATE treasury.campaign_day SET allotted = 0"),
      ("I5", "UPDATE billing.allotment SET charged = charged - 1"),
      ("I6", "UPDATE billing.balance SET credit = credit + 1 WHERE account = 'developer:dev'"),
      ("I6", "INSERT INTO billing.posting VALUES (0, 2, 'advertiser:adv', 'USD', 1, 0), (0, 2, 'x', 'USD', 0, 1)"),
      ("I7a", "DELETE FROM billing.charge WHERE kind = vocabulary.charge_kind('impression')"),
      ("I7a", "DELETE FROM click_tracking.click"),
      ("I7a", "UPDATE billing.charge SET price = price + 1 WHERE kind = vocabulary.charge_kind('click')"),
      ("I7a", "UPDATE billing.charge SET share_basis_points = 6001 WHERE kind = vocabulary.charge_kind('click')"),
      ("I6", "UPDATE billing.charge_row SET fate = vocabulary.charge_fate('unfunded')"),
      ("I6", "UPDATE billing.charge SET advertiser = 'other' WHERE kind = vocabulary.charge_kind('click')"),
      ("I7a", "DELETE FROM billing.terms"),
      ("I7b", "DELETE FROM ad_selection.decision"),
      ("I7b", "UPDATE impression_tracking.impression SET client_hash = 78"),
      ("M5", "UPDATE impression_tracking.impression SET event_time = '2031-01-01Z'"),
      ("M4", Self.toldTwice),
      ("I8", "UPDATE ad_selection.decision SET is_test = true, impression_price = 0, click_price = 0, allotment = 0"),
      ("M6", "UPDATE impression_tracking.minute_count SET events = 2"),
      ("M6", "UPDATE ad_selection.minute_count SET requests = 2"),
      ("M6", "DELETE FROM ad_selection.minute_count"),
      ("M6", "INSERT INTO ad_selection.keyless_count VALUES (0, '2035-01-01', 16, 1)"),
      ("M6", Self.keyless + "UPDATE ad_selection.keyless_count SET requests = 1"),
      ("M6", Self.keyless + "DELETE FROM ad_selection.keyless_count"),
      ("M6", "UPDATE billing.minute_revenue SET gross = gross + 1 WHERE kind = vocabulary.charge_kind('impression')"),
      ("M6", "UPDATE billing.minute_revenue SET developer = 'other'"),
      ("M6", "UPDATE billing.minute_revenue SET advertiser = campaign"),
      ("M6", "DELETE FROM billing.minute_revenue"), ("M6", "DELETE FROM click_tracking.minute_count"),
      ("M6", "INSERT INTO click_tracking.minute_count SELECT * FROM click_tracking.minute_count"),
      ("M6", rolledUp("click_tracking.rollup_count", "1, 1, false, 1", by: "app")),
      ("M6", rolledUp("click_tracking.rollup_count", "1, 1, false, 1", by: "country")),
      ("M6", rolledUp("billing.rollup_revenue", "1, 1, 'USD', 0, 1, 1, 0", by: "campaign")),
      ("M6", rolledUp("billing.rollup_revenue", "1, 1, 'USD', 1, 0, 0, 0", by: "developer")),
      ("M6", billedToAnother("developer", "other", "dev")),
      ("M6", billedToAnother("advertiser", "{other,camp}", "{adv,camp}")),
      ("M6", "UPDATE pipeline.rollup SET last_transaction = '4000000000000' WHERE service = 'ad_selection'"),
    ])
  func tampered(rule: String, change: String) async throws {
    let result = try await reconcile(after: change)
    let broken = result.checks.filter { $0.differences > 0 }
    #expect(broken.contains { $0.rule == rule }, "\(result.text)")
    #expect(broken.allSatisfy { !$0.examples.isEmpty })
    #expect(!result.isClean)
  }

  /// What no count is behind is rolled up.
  private static func rolledUp(_ table: String, _ counts: String, by dimension: String) -> String {
    "INSERT INTO \(table) VALUES ('2030-01-01 05:00Z', '\(dimension)', 'x', \(counts))"
  }

  /// All that is rolled up is as much as before.
  private static func billedToAnother(_ dimension: String, _ other: String, _ one: String) -> String {
    """
    INSERT INTO billing.rollup_revenue VALUES ('2030-01-01 05:00Z', '\(dimension)', '\(other)', 1, 1, 'USD', 0, 1, 1, 0),
      ('2030-01-01 05:00Z', '\(dimension)', '\(one)', 1, 1, 'USD', 0, -1, -1, 0)
    """
  }

  /// An ad was drawn, by a row and by a pack.
  private static let toldTwice = """
    INSERT INTO impression_tracking.delivery_row
    VALUES ('\(serve)', 1, '2030-01-01Z', 1, 0, 1, -1, 1, 1, false, 'US', 'home');
    INSERT INTO impression_tracking.delivery_pack SELECT serve_id, serve_id, batch_number, partition, kind, ARRAY[serve_id],
      ARRAY[event_time], ARRAY[terms], ARRAY[device], ARRAY[size], ARRAY[country], ARRAY[placement]
    FROM impression_tracking.delivery_row
    """

  /// Two requests of a stranger, and their count.
  private static let keyless = """
    INSERT INTO ad_selection.decision (serve_id, partition, app, placement, country, device, client_hash, is_test,
      batch_number, request_id, arrival, deadline, outcome, reason, error, candidates, outbid, excluded_reasons,
      excluded_counts)
    SELECT overlay('\(serve)' PLACING number::text FROM 36)::uuid, 0, 'invented-' || number, '', '', 0, 1, false, 1,
      '\(serve)', '2029-12-31 23:59:59Z', '2030-01-01Z', 36, 16, 4, 0, 0, '{}', '{}' FROM generate_series(5, 6) AS number;
    INSERT INTO ad_selection.keyless_count VALUES (0, '2025-07-24', 16, 2);

    """

  @Test(
    "M1, A1: requests without their app's key are compared by the day of their decision")
  func withoutAppKey() async throws {
    let result = try await reconcile(after: Self.keyless)
    #expect(result.differences == 0, "\(result.text)")
    let check = try #require(result.checks.first { $0.name.hasPrefix("requests without their app's key") })
    #expect(check.compared == 2)
  }

  @Test("a lost range and a log that was accepted anew are no gap")
  func lost() async throws {
    let result = try await reconcile(
      after: """
        INSERT INTO impression_tracking.lost_range VALUES (0, 'ads.impressions', 3, 7, 2, 'skipped');
        INSERT INTO impression_tracking.batch (partition, batch_number, committed_at, watermark, input_topics, first_offsets,
          next_offsets, output_topics, first_sequences, next_sequences, outcomes) VALUES
          (0, 2, now(), now(), '{ads.impressions}', '{7}', '{7}', '{}', '{}', '{}', ''),
          (0, 3, now(), now(), '{ads.impressions}', '{0}', '{0}', '{}', '{}', '{}', ''),
          (0, 4, now(), now(), '{ads.impressions}', '{0}', '{1}', '{}', '{}', '{}', '\\x02');
        UPDATE impression_tracking.partition SET batch_number = 4;
        UPDATE impression_tracking.input SET next_offset = 1;
        """)
    #expect(result.differences == 0, "\(result.text)")
  }

  @Test("I3: a gap in the sequences is found, also where something twice makes up for it")
  func gaps() async throws {
    // By partition: the sequences that are there, and whether that is a fault.
    let partitions: [(sequences: [Int], isFault: Bool)] = [
      ([1, 2, 3], false), ([2, 1, 4, 3], false), ([1, 3], true), ([2, 3], true), ([1, 2, 2, 4], true),
      ([2, 2, 2], true), ([1, 4, 4, 4, 5, 6, 7, 5], true),
    ]
    var script = "SELECT public.keep_days('impression_tracking.impression_row', '2030-01-01', 0, 3, 400);"
    for (index, partition) in partitions.enumerated() {
      for (place, sequence) in partition.sequences.enumerated() {
        script += """
          INSERT INTO impression_tracking.impression SELECT (lpad(to_hex(1893456000000 + \(index * 10 + place)), 12, '0') ||
            '70008000000000000001')::uuid, \(index + 1), 1, \(sequence), '2030-01-01Z', '2030-01-01 12:00Z',
            \(Self.terms);
          """
      }
      let next = 1 + (partition.sequences.max() ?? 0)
      script += "INSERT INTO impression_tracking.output VALUES (\(index + 1), 'ads.impressions.accepted', \(next), 1);"
    }
    let result = try await reconcile(after: script)
    let check = try #require(result.checks.first { $0.name.hasPrefix("ads.impressions.accepted: accepted rows") })
    let faults = partitions.enumerated().filter { $0.element.isFault }.map { $0.offset + 1 }
    #expect(check.examples.map { $0.prefix(11) } == faults.map { "partition \($0)" }, "\(check)")
  }

  @Test("the devices' own tally is compared with the tables; what it leaves out is not")
  func devices() async throws {
    let pool = try await TestDatabase.pool()
    let text = """
      {"version": 1, "startedAt": "2023-11-14T22:13:20Z", "requests": 2, "impressions": {"live": 1, "test": 0},
       "clicks": {"live": 1, "test": 0}, "accidentalClicks": {"live": 0, "test": 0}, "rejectedRecords": 0,
       "freeClicks": {"live": 0, "test": 0}, "stoppedActions": {"live": 0, "test": 0},
       "rendered": {"live": 0, "test": 0}, "unloaded": {"live": 0, "test": 0}, "failed": {"live": 0, "test": 0},
       "neverShown": {"live": 0, "test": 0}, "expiredUnseen": {"live": 0, "test": 0},
       "shownBriefly": {"live": 0, "test": 0}, "conversions": 0, "failuresWithoutAd": 0,
       "besides": {"weather": "fair"}}
      """
    let account = try DeviceAccount.read(try JSONValue.parse(text.utf8)).get()
    let few = DeviceAccount(startedAt: account.startedAt, impressions: .init(live: 3, test: 0))
    let (whole, part) = try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in try connection.executeScript(Self.served) }
      return (try Reconciler(pool).reconcile(tally: account), try Reconciler(pool).reconcile(tally: few))
    }
    let devices = whole.checks.filter { $0.rule == "devices" }
    #expect(devices.filter { $0.differences > 0 }.flatMap(\.examples) == ["the devices say 2, the tables 1"])
    #expect(devices.count == 26)
    #expect(part.checks.filter { $0.rule == "devices" }.map(\.differences) == [2, 0])
    #expect(try DeviceAccount.read(account.json(besides: [.init("pens", 3)])).get() == account)
    #expect(try DeviceAccount.read(few.json()).get() == few)
  }

  @Test(
    "a tally that cannot be read says everything that is wrong with it",
    arguments: [
      ("[]", "the tally: must be a JSON object"),
      (
        #"{"startedAt": "today", "request": 1}"#,
        "request: is none of version, startedAt, besides, requests, impressions, clicks, accidentalClicks, freeClicks, "
          + "stoppedActions, rendered, unloaded, failed, neverShown, expiredUnseen, shownBriefly, conversions, "
          + "failuresWithoutAd, rejectedRecords; did you mean requests?; "
          + "version: must be 1: the form that docs/tally.md tells; startedAt: must be a moment in UTC such as "
          + "2026-07-01T12:00:00.000Z; the tally: must have one of requests, impressions, clicks, accidentalClicks, "
          + "freeClicks, stoppedActions, rendered, unloaded, failed, neverShown, expiredUnseen, shownBriefly, "
          + "conversions, failuresWithoutAd, rejectedRecords"
      ),
      (
        #"{"version": 1, "startedAt": "2026-07-01T12:00:00Z", "requests": -1, "clicks": 3, "impressions": {"live": 1.5}}"#,
        "requests: must be a whole number, 0 to 1000000000000000; impressions: must be an object with live and test; "
          + "clicks: must be an object with live and test"
      ),
    ])
  func badTally(text: String, problems: String) throws {
    guard case .failure(let found) = DeviceAccount.read(try JSONValue.parse(text.utf8)) else {
      Issue.record("it was read")
      return
    }
    #expect(found.description == problems)
  }

  @Test("the example of docs/tally.md is a tally, with every figure")
  func documentedTally() throws {
    let text = try String(contentsOfFile: PackageRoot.path("docs/tally.md"), encoding: .utf8)
    let example = try #require(text.firstMatch(of: /```json\n(\{[\s\S]*?\n\})\n```/)).output.1
    let account = try DeviceAccount.read(try JSONValue.parse(example.utf8)).get()
    let isWhole =
      account.requests != nil && account.impressions != nil && account.clicks != nil
      && account.accidentalClicks != nil && account.rejectedRecords != nil
      && account.lives.freeClicks != nil && account.lives.stoppedActions != nil && account.lives.rendered != nil
      && account.lives.unloaded != nil && account.lives.failed != nil && account.lives.failuresWithoutAd != nil
      && account.lives.conversions != nil
      && account.lives.neverShown != nil && account.lives.expiredUnseen != nil && account.lives.shownBriefly != nil
    #expect(isWhole)
  }
}
