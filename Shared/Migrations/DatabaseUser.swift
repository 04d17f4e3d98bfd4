package import Postgres

/// Who reaches the database. Each has the rights of a role (`Logic/80_rights.sql`), and a login that is the role's member.
package enum DatabaseUser: String, CaseIterable, Sendable {
  case adSelection = "ad-selection"
  case impressionTracking = "impression-tracking"
  case clickTracking = "click-tracking"
  case billing
  case console
  /// The command `handbill`, as people on call use it; it migrates as the owner.
  case command
  /// Dashboards, and whoever else reads reports.
  case reporting

  /// Whose rights it has.
  package var role: String { "handbill_" + rawValue.replacing("-", with: "_") }

  /// What it logs in as, where nobody wants another name: a service by its program's name, as on Kafka.
  package var login: String { "handbill-" + rawValue }

  /// Makes the logins that are missing, without passwords: for a server that only its owner can reach.
  package static func makeLogins(_ connection: PostgresConnection) throws(PostgresError) {
    let users = allCases.map { "('\($0.login)', '\($0.role)')" }.joined(separator: ", ")
    try connection.executeScript(
      """
      DO $do$
      DECLARE
        missing record;
      BEGIN
        FOR missing IN VALUES \(users) LOOP
          CONTINUE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = missing.column1);
          BEGIN
            EXECUTE format('CREATE ROLE %I LOGIN IN ROLE %I', missing.column1, missing.column2);
          EXCEPTION WHEN duplicate_object OR unique_violation THEN
            -- Roles are the whole server's: somebody else has made it just now.
          END;
        END LOOP;
      END
      $do$
      """)
  }
}
