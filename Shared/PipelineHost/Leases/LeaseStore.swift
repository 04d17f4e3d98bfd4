internal import Pipeline
internal import Postgres

/// Where the instances of a service see each other: its tables `member` and `partition`, through a session of its own
/// whose end says that the process has ended. One thread uses it.
final class LeaseStore {
  private let sql: LeaseStatements
  private let instance: String
  private let configuration: PostgresConfiguration
  private var connection: PostgresConnection?
  /// The number of this instance's membership; nil before the first, and kept when its session is lost.
  private(set) var member: Int32?

  /// How long the row of a partition may be locked by somebody who does not go on, and how long anything may take: there
  /// is another beat soon.
  private static let lockMilliseconds = 1_000
  private static let statementMilliseconds = 5_000

  /// - Parameter instance: tells people which process it is; nothing depends on it.
  init(schema: String, instance: String, configuration: PostgresConfiguration) {
    sql = LeaseStatements(schema: schema)
    self.instance = instance
    var configuration = configuration
    configuration.statementTimeoutMilliseconds = Self.statementMilliseconds
    configuration.sessionSettings["lock_timeout"] = "\(Self.lockMilliseconds)ms"
    // What a crash of the server takes away here was about sessions that it took away as well.
    configuration.sessionSettings["synchronous_commit"] = "off"
    self.configuration = configuration
  }

  /// Whether there is a session that takes part.
  var isMember: Bool { connection?.isUsable == true && member != nil }

  /// Opens the session ahead of the first ``join()``, which need not wait for it then.
  func connect() throws(PostgresError) { connection = try PostgresConnection(configuration) }

  /// Takes part from now on, under a new number, and keeps what the earlier one had and nobody has taken since.
  func join() throws(PostgresError) {
    let earlier = member
    if earlier != nil || connection?.isUsable != true {
      connection?.close()
      connection = nil
      try connect()
    }
    guard let connection else { return }
    let joined = try connection.transaction { connection throws(PostgresError) -> Int32 in
      guard let row = try connection.query(sql.join, [instance]).first, try row.decode(1, Bool.self) else {
        throw PostgresError(.undecodable, "the member's row or its lock is not there")
      }
      let number = try row.decode(0, Int32.self)
      if let earlier {
        try connection.execute(sql: sql.inherit, [number, earlier])
        try connection.execute(sql: sql.remove, [[earlier]])
      }
      return number
    }
    member = joined
  }

  /// Says that this instance lives, and reads who else does and who has what; nil when others took it for gone.
  func readView(partitionCount: Int32) throws(PostgresError) -> LeaseView? {
    try withMembership { connection, own throws(PostgresError) in
      var statements = StatementBatch()
      let beat = statements.send(prepared: sql.beat, [own])
      let others = statements.send(prepared: sql.others, [own])
      let partitions = statements.send(prepared: sql.partitions, [])
      let results = try connection.run(statements)
      guard try results.affectedRows(at: beat) == 1 else { return nil }
      var view = LeaseView(own: own, others: [], partitions: [:], partitionCount: partitionCount)
      for row in try results.rows(at: others) {
        view.others.append(
          LeaseView.Member(number: try row.decode(0), beat: try row.decode(1), isGone: try row.decode(2)))
      }
      for row in try results.rows(at: partitions) {
        view.partitions[try row.decode(0)] = LeaseView.Partition(epoch: try row.decode(1), owner: try row.decode(2))
      }
      return view
    }
  }

  /// Removes members that are gone: what they had is free.
  func expel(_ members: [Int32]) throws(PostgresError) {
    try withMembership { connection, _ throws(PostgresError) in
      _ = try connection.execute(sql: sql.remove, [members])
    }
  }

  /// Partitions that this instance has no more are free for others.
  func clear(_ partitions: [Int32]) throws(PostgresError) {
    guard !partitions.isEmpty else { return }
    try withMembership { connection, own throws(PostgresError) in
      _ = try connection.execute(sql: sql.clear, [own, partitions])
    }
  }

  /// Takes part no more: what is owned by no member is free.
  func leave() {
    // Without an answer the session's end says the same.
    if let member { try? expel([member]) }
    connection?.close()
    connection = nil
  }

  private func withMembership<Result>(
    _ body: (PostgresConnection, Int32) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    guard let connection, let member else {
      throw PostgresError(.connectionLost(commitUnknown: false), "there is no membership")
    }
    return try body(connection, member)
  }
}
