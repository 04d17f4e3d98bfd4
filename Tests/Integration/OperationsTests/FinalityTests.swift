import AdCore
import Testing

@testable import Operations

@Suite("Serves that are final")
struct FinalityTests {
  /// The served ad's life ends at 2030-01-01 00:15; everything that arrived until 02:00 is decided.
  private static func windows(_ rows: [(from: String, milliseconds: Int64)]) -> String {
    "UPDATE impression_tracking.partition SET watermark = '2030-01-01 02:00Z'; DELETE FROM impression_tracking.windows;"
      + rows.map {
        "INSERT INTO impression_tracking.windows VALUES (0, 'HANDBILL_LATE_ARRIVAL', '\($0.from)', \($0.milliseconds));"
      }
      .joined()
  }

  @Test("I7c: a serve is final by the window that was in force for it, or a longer one that came later")
  func windowsInForce() async throws {
    // The ad was served at 2025-07-24 06:06.
    let cases: [(rows: [(from: String, milliseconds: Int64)], final: Int64)] = [
      ([("2025-07-01Z", 60_000)], 1), ([("2025-07-01Z", 86_400_000)], 0), ([], 0),
      // Noted for the first time after it was served: that holds for it as well.
      ([("2025-08-01Z", 60_000)], 1), ([("2025-08-01Z", 86_400_000)], 0),
      // Shorter since: an event of then was judged by the longer one.
      ([("2025-07-01Z", 86_400_000), ("2025-08-01Z", 60_000)], 0),
      // Shorter before it was served: the longer one is over.
      ([("2025-07-01Z", 86_400_000), ("2025-07-02Z", 60_000)], 1),
      // Longer since: an impression may still come.
      ([("2025-07-01Z", 60_000), ("2025-08-01Z", 86_400_000)], 0),
      // Another partition's windows do not matter.
      ([("2025-07-01Z", 60_000), ("2025-08-01Z", 120_000)], 1),
    ]
    for (rows, final) in cases {
      let result = try await ReconciliationTests().reconcile(after: Self.windows(rows))
      #expect(result.finality.final == final && result.finality.serves == 1, "\(rows)")
      let check = try #require(result.checks.first { $0.rule == "I7c" })
      #expect(check.compared == final && check.differences == 0, "\(rows)")
    }
    let unknown = try await ReconciliationTests().reconcile(after: Self.windows([]))
    #expect(unknown.finality.finalBy == nil && unknown.finality.text.contains("a moment not yet known"))
    let other = try await ReconciliationTests().reconcile(
      after: Self.windows([("2025-07-01Z", 60_000)])
        + "INSERT INTO impression_tracking.windows VALUES (1, 'HANDBILL_LATE_ARRIVAL', '2025-07-01Z', 86400000);")
    #expect(other.finality.final == 1)
  }

  @Test("I7c: a final serve that was neither seen nor expired once is a difference, whatever the windows were before")
  func finalDifference() async throws {
    let result = try await ReconciliationTests().reconcile(
      after: Self.windows([("2025-07-01Z", 60_000), ("2025-08-01Z", 120_000)])
        + "UPDATE impression_tracking.impression SET is_test = true;")
    let check = try #require(result.checks.first { $0.rule == "I7c" })
    #expect(check.differences == 1 && check.examples == ["1 served and final, 0 seen, 0 expired"])
  }

  @Test(
    "I7c: a serve whose decision a person has accepted to be lost is not final; before, its impression is one too many")
  func lostServe() async throws {
    let lost = Self.windows([("2025-07-01Z", 60_000)]) + "DELETE FROM ad_selection.decision;"
    for (accepted, examples) in [
      ("", ["0 served and final, 1 seen, 0 expired"]), ("SELECT timeline.name_lost_serves();", []),
    ] {
      let result = try await ReconciliationTests().reconcile(after: lost + accepted)
      let check = try #require(result.checks.first { $0.rule == "I7c" })
      #expect(check.compared == 0 && check.differences == examples.count && check.examples == examples)
    }
  }

  @Test(
    "I7b: what has no decision has lost it where a person has accepted that; a decision that served nothing is none")
  func lostDecision() async throws {
    let accepted = """
      INSERT INTO timeline.lost_serve SELECT 0, public.first_uuid_of_day('2025-07-24'),
        public.first_uuid_of_day('2025-07-25'), max(number) FROM timeline.timeline;
      """
    let unfilled = "UPDATE ad_selection.decision SET reason = \(DecisionReason.noAllotment.number);"
    for (change, differences) in [
      ("", 0), ("DELETE FROM ad_selection.decision;", 2), ("DELETE FROM ad_selection.decision;" + accepted, 0),
      (unfilled, 2), (unfilled + accepted, 2),
    ] as [(String, Int64)] {
      let result = try await ReconciliationTests().reconcile(after: change)
      let check = try #require(result.checks.first { $0.name.hasSuffix("one decision, with the same terms") })
      #expect(check.rule == "I7b" && check.compared == 2 && check.differences == differences, "\(change)")
      #expect(check.examples.allSatisfy { $0 == "\(ReconciliationTests.serve) has no decision" })
    }
  }

  @Test("I7c: a serve that kept its decision is final, though others of its time are lost")
  func keptServe() async throws {
    let result = try await ReconciliationTests().reconcile(
      after: Self.windows([("2025-07-01Z", 60_000)])
        + "INSERT INTO timeline.lost_serve SELECT 0, public.first_uuid_of_day('2025-07-24'),"
        + " public.first_uuid_of_day('2025-07-25'), max(number) FROM timeline.timeline;")
    let check = try #require(result.checks.first { $0.rule == "I7c" })
    #expect(check.compared == 1 && check.differences == 0)
  }
}
