import Pipeline
import Postgres
import Testing

@testable import PipelineHost

@Suite("Whose trouble a failure of the database is")
struct DatabaseErrorTests {
  private static let states: [PipelineError.Kind: [String]] = [
    .fenced: ["HB001"],
    .databaseUnavailable: [
      "40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03", "53100", "53200", "53300", "58030", "08006",
    ],
    .databaseMisconfigured: ["28000", "28P01", "3D000", "25006"],
    .invariantBroken: [
      "42703", "42P01", "42501", "42601", "0A000", "XX000", "XX002", "25P02", "22003", "23505", "23514", "HB002",
      "P0001", "54000",
    ],
  ]

  @Test("A refused statement is a mistake, but for what waiting mends and for a server that is set up wrong")
  func refusedStatements() {
    for (kind, states) in Self.states {
      for state in states {
        let error = PipelineError(PostgresError(.server, "words", sqlState: state))
        #expect(error.kind == kind, "\(state)")
        if kind != .fenced { #expect(error.detail.contains(state)) }
      }
    }
    #expect(PipelineError(PostgresError(.server, "words")).kind == .invariantBroken)
  }

  @Test("A connection that is lost is an outage, a refused login is not, and a wrong call is our mistake")
  func connections() {
    let kinds: [(PostgresError.Kind, PipelineError.Kind)] = [
      (.cannotConnect, .databaseUnavailable), (.poolUnavailable, .databaseUnavailable),
      (.connectionLost(commitUnknown: false), .databaseUnavailable),
      (.connectionLost(commitUnknown: true), .databaseUnavailable),
      (.authenticationFailed, .databaseMisconfigured), (.invalidConfiguration, .databaseMisconfigured),
      (.rolledBack, .invariantBroken), (.undecodable, .invariantBroken), (.misuse, .invariantBroken),
    ]
    for (kind, expected) in kinds { #expect(PipelineError(PostgresError(kind, "words")).kind == expected, "\(kind)") }
  }

  @Test("Rows are refused by constraints and types alone")
  func rows() {
    func refusal(_ state: String) -> RowRefusal? { RowRefusal(PostgresError(.server, "words", sqlState: state)) }
    #expect(refusal("23505") == .duplicate)
    #expect(refusal("23514") == .refused("PostgreSQL 23514: words"))
    #expect(refusal("22003") == .refused("PostgreSQL 22003: words"))
    #expect(refusal("42703") == nil)
    #expect(refusal("HB001") == nil)
  }
}
