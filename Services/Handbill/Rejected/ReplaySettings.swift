internal import AdCore
internal import Foundation
internal import Operations
internal import Postgres
internal import Runtime

/// The keys by which tokens are checked, as far as this command is told them; the windows are those that the services note.
struct ReplaySettings: Sendable {
  private static let ringKey = NetworkKeys.ring.optional()
  /// What it reads.
  static let keys = [ringKey.declaration]

  let ring: KeyRing?

  /// - Throws: `ConfigurationProblems` where one is set and wrong.
  init(_ invocation: Invocation) throws(ConfigurationProblems) {
    let commandLine = invocation.values.compactMapValues(\.last)
    ring = try ConfigurationReader.read(
      commandLine: commandLine, environment: ProcessInfo.processInfo.environment
    ) { reader in
      let ring = reader.value(Self.ringKey)
      return ring ?? nil
    }
  }

  /// What would become of each record now.
  func outlooks(of records: [KeptRecord], _ pool: PostgresPool) throws -> [ReplayOutlook] {
    let now = SystemClock().now
    let opener = try ring.map { try ServeTokenOpener(ring: $0) }
    let hasher = try ring.map { try ClientHasher(ring: $0) }
    return try pool.withConnection { connection throws(PostgresError) in
      let judge = try ReplayJudge(opener: opener, hasher: hasher, connection: connection)
      return try records.map { record throws(PostgresError) in try judge.judge(record, now: now) }
    }
  }
}
