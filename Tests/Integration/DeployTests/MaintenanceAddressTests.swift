import Runtime
import TestServers
import Testing

@testable import Handbill

/// Behind a pooler tables are made by another way than what services use.
@Suite("The way by which tables are made")
struct MaintenanceAddressTests {
  /// Nobody listens there.
  private static let dead = "postgresql://127.0.0.1:1/handbill"

  private func migrate(_ step: String, database: String, maintenance: String?) async -> ExitCode {
    let way = maintenance.map { ["--database-maintenance-url", $0] } ?? []
    return await CommandLineProgram.run(
      HandbillMain.command, arguments: ["migrate", step, "--database-url", database] + way)
  }

  @Test("`migrate` goes by HANDBILL_DATABASE_MAINTENANCE_URL where it is set, and else by HANDBILL_DATABASE_URL")
  func migrate() async throws {
    let (one, other) = (try await SharedPostgres.database(), try await SharedPostgres.database())
    #expect(CommonKeys.maintenanceURL.declaration.name == "HANDBILL_DATABASE_MAINTENANCE_URL")
    #expect(await migrate("up", database: Self.dead, maintenance: one) == .success)
    #expect(await migrate("status", database: Self.dead, maintenance: one) == .success)
    #expect(await migrate("status", database: one, maintenance: other) == .failure, "nothing was made there")
    #expect(await migrate("status", database: one, maintenance: nil) == .success)
    for step in ["up", "status"] {
      #expect(await migrate(step, database: one, maintenance: Self.dead).rawValue == 69)
      #expect(await migrate(step, database: Self.dead, maintenance: nil).rawValue == 69)
    }
  }
}
