import LocalProcesses
import Migrations
import Postgres
import Testing

@testable import Operations

/// Rows of days whose sums are sealed are read no more, unless somebody asks.
@Suite("Rows of sealed days")
struct SealedRowTests {
  private static let name = "rows of sealed days that are kept are those that were sealed"
  /// The first impression of the second day and partition 0 whose charge has a row of its own.
  private static let charge = """
    (SELECT serve_id FROM billing.charge_row WHERE serve_id >= public.first_uuid_of_day('2030-03-02') AND partition = 0
      AND kind = vocabulary.charge_kind('impression') ORDER BY serve_id LIMIT 1)
    """

  @Test(
    "a row that comes into a sealed day, goes or changes is named",
    arguments: [
      (
        """
        INSERT INTO billing.charge_row SELECT (jsonb_populate_record(c, '{"id_hash": 77}')).* FROM billing.charge_row c
        WHERE serve_id = \(charge) AND kind = vocabulary.charge_kind('impression')
        """, "2030-03-02, partition 0: charges, gross, developer_amount, network_amount of billing.charge are "
      ),
      ("DELETE FROM billing.charge_row WHERE serve_id = \(charge)", "2030-03-02, partition 0: charges, gross, "),
      (
        "UPDATE billing.charge_row SET fate = vocabulary.charge_fate('unfunded') WHERE serve_id = \(charge)",
        "2030-03-02, partition 0: charges, gross, "
      ),
      (
        "DELETE FROM billing.charge_pack WHERE serve_id < public.first_uuid_of_day('2030-03-02') AND partition = 1",
        "2030-03-01, partition 1: charges, gross, "
      ),
      (
        "DELETE FROM click_tracking.click_row WHERE serve_id < public.first_uuid_of_day('2030-03-02') AND partition = 1",
        "2030-03-01, partition 1: clicks, click_sequences, click_squares of click_tracking.click_row are nothing, and were "
      ),
      (
        "DELETE FROM ad_selection.decision WHERE serve_id < public.first_uuid_of_day('2030-03-02') AND partition = 1",
        "2030-03-01, partition 1: requests, serves of ad_selection.decision are nothing, and were sealed as "
      ),
    ])
  func named(change: String, example: String) async throws {
    let days = try await SealingTests.Days(sealed: true)
    try await onOwnThread {
      let before = try #require(
        try Reconciler(days.pool).reconcile(withSealedRows: true).checks.first { $0.name == Self.name })
      #expect(before.differences == 0 && before.compared > 1_000, "\(before)")
      try days.run(change)
      let after = try #require(
        try Reconciler(days.pool).reconcile(withSealedRows: true).checks.first { $0.name == Self.name })
      #expect(after.differences == 1 && after.examples.allSatisfy { $0.hasPrefix(example) }, "\(after)")
    }
  }

  @Test("I2: terms that no row of an open day names are read with the rows of sealed days alone, the others always")
  func terms() async throws {
    let days = try await SealingTests.Days(sealed: true)
    try await onOwnThread {
      func damaged(withSealedRows: Bool) throws -> [String] {
        try Reconciler(days.pool).reconcile(withSealedRows: withSealedRows).checks
          .filter { $0.rule == "I2" && $0.differences > 0 }.map(\.name)
      }
      #expect(try damaged(withSealedRows: true) == [])
      try days.run("UPDATE billing.terms SET developer = 'thief', last_day = '2030-03-01'")
      #expect(try damaged(withSealedRows: false) == [])
      let sealed = "billing: terms of sealed days are what they were when they were named"
      #expect(try damaged(withSealedRows: true) == [sealed])
      try days.run(
        "UPDATE billing.terms SET last_day = (SELECT public.day_of(public.first_uuid_at(open_from)) FROM sealed.head)")
      let open = "billing: terms of open days are what they were when they were named"
      #expect(try damaged(withSealedRows: false) == [open])
    }
  }

  @Test("a charge in a day that was dropped is named, whoever made the day's table again")
  func dropped() async throws {
    let days = try await SealingTests.Days(sealed: true)
    try await onOwnThread {
      _ = try days.drop()
      try days.run(
        """
        CREATE TABLE billing.charge_row_20300302 PARTITION OF billing.charge_row
          FOR VALUES FROM (public.first_uuid_of_day('2030-03-02')) TO (public.first_uuid_of_day('2030-03-03'));
        CREATE TABLE billing.charge_pack_20300302 PARTITION OF billing.charge_pack
          FOR VALUES FROM (public.first_uuid_of_day('2030-03-02')) TO (public.first_uuid_of_day('2030-03-03'));
        """)
      let result = try Reconciler(days.pool).reconcile(withSealedRows: true)
      let check = try #require(result.checks.first { $0.name == Self.name })
      #expect(check.examples.map { String($0.prefix(23)) } == ["2030-03-02, partition 0", "2030-03-02, partition 1"])
    }
  }

  @Test("sums of days that were sealed before the network's accounts were get these from what was posted")
  func migrated() async throws {
    let days = try await SealingTests.Days()
    let step = try #require(try Migration.all().first { $0.name == "suspense" })
    try await onOwnThread {
      // As they lay then.
      try days.run("SELECT public.unpack_charge(serve_ids[1]) FROM billing.charge_pack")
      _ = try days.seal()
      let sealed = "SELECT sum(charged) FROM sealed.account WHERE account = 'network:revenue'"
      let before = try days.number(sealed)
      #expect(before < 0)
      try days.run(
        """
        UPDATE sealed.account SET charged = 0 WHERE account LIKE 'network:%';
        UPDATE sealed.head SET digest = sealed.digest();
        """)
      #expect(try Reconciler(days.pool).reconcile().checks.contains { $0.rule == "I6" && $0.differences > 0 })
      try days.run(
        """
        ALTER TABLE billing.suspense DROP COLUMN reason, DROP COLUMN voided_at CASCADE, DROP COLUMN void_reason CASCADE;
        DROP INDEX billing.suspense_serve;
        """)
      try days.run(step.sql)
      #expect(try days.number(sealed) == before)
      let result = try Reconciler(days.pool).reconcile()
      #expect(result.differences == 0, "\(result.text)")
    }
  }
}
