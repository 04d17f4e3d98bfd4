import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations

@Suite("Allotments beyond retention")
struct AllotmentRetentionTests {
  private let days: SealingTests.Days

  /// Four days are sealed, and everything was published.
  init() async throws {
    days = try await SealingTests.Days(sealed: true)
    try await onOwnThread { [days] in
      for service in ["billing", "ad_selection"] {
        try days.run(
          """
          UPDATE \(service).partition SET output_topics = '{t}', next_sequences = '{1000000001}',
            confirmed_sequences = '{1000000000}'
          """)
      }
    }
  }

  private func forget(_ service: String, most: Int = 100) throws -> Int64 {
    try days.number("SELECT public.forget_allotments('\(service)', \(most))")
  }

  private func count(_ service: String) throws -> Int64 { try days.number("SELECT count(*) FROM \(service).allotment") }

  private func expectNoDifference() throws {
    let result = try Reconciler(days.pool).reconcile()
    #expect(result.differences == 0, "\(result.text)")
  }

  @Test("I5: they go once the days of their serves are sealed and dropped, and all accounts agree")
  func retention() async throws {
    try await onOwnThread {
      #expect(try forget("billing") == 0 && forget("ad_selection") == 0, "their serves are still there")
      _ = try days.drop()
      let ended = try days.number("SELECT count(*) FROM billing.allotment WHERE ended_at < '2030-03-04 23:00Z'")
      let all = try count("billing")
      #expect(ended > 8 && ended < all)
      #expect(try forget("billing", most: 3) == 3)
      try expectNoDifference()
      #expect(try forget("billing") == ended - 3)
      #expect(try forget("billing") == 0)
      try expectNoDifference()
      #expect(try forget("ad_selection") > 8)
      try expectNoDifference()
      #expect(try count("billing") == all - ended)
      #expect(try days.number("SELECT count(*) FROM ad_selection.allotment WHERE closed_at IS NULL") > 0)
    }
  }

  @Test("what may have to be published again stays")
  func unconfirmed() async throws {
    try await onOwnThread {
      _ = try days.drop()
      for service in ["billing", "ad_selection"] {
        try days.run("UPDATE \(service).partition SET confirmed_sequences = '{0}' WHERE partition = 0")
        let other = try days.number("SELECT count(*) FROM \(service).allotment WHERE partition = 0")
        #expect(try forget(service) > 0)
        #expect(try days.number("SELECT count(*) FROM \(service).allotment WHERE partition = 0") == other)
      }
    }
  }

  @Test("what ad selection has not closed, and what is not sealed, stays")
  func unsealed() async throws {
    try await onOwnThread {
      _ = try days.drop()
      try days.run("UPDATE sealed.head SET ended_before = '2030-03-01Z'")
      #expect(try forget("billing") == 0 && forget("ad_selection") == 0)
      try days.run(
        """
        UPDATE sealed.head SET ended_before = '2030-03-04 23:00Z';
        ALTER TABLE ad_selection.allotment DISABLE TRIGGER USER;
        UPDATE ad_selection.allotment SET closed_at = NULL, report_sequence = NULL;
        """)
      #expect(try forget("ad_selection") == 0)
    }
  }

  @Test("I5: an allotment that ad selection has and billing never granted is a difference")
  func unknown() async throws {
    try await onOwnThread {
      try days.run(
        "DELETE FROM billing.allotment WHERE id = (SELECT max(id) FROM ad_selection.allotment WHERE closed_at IS NULL)")
      let result = try Reconciler(days.pool).reconcile()
      #expect(result.text.contains("granted "), "\(result.text)")
      #expect(result.differences > 0)
    }
  }
}
