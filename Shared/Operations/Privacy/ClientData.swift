package import AdCore
package import JSON
package import Postgres
internal import Runtime

/// What is stored about one client, for the person whose app it is on (A8). Blocks the caller.
///
/// Rows say of which client they are by a keyed hash alone: it is looked for by every key of the network's ring. What was
/// hashed by a key that is gone nobody can find any more, and nobody can say whose it is.
package struct ClientData: Sendable {
  /// What erasing came to.
  package struct Erased: Hashable, Sendable {
    /// Out of so many requests the client was taken.
    package var requests: Int64
    /// Until then events of ads that are in flight may come, and be stored with the client: to be erased once more; nil where
    /// there were no requests.
    package var againAfter: Timestamp?

    package var json: JSONValue {
      ["requests": .integer(requests), "againAfter": .optional(againAfter?.utcText)]
    }
  }

  private let pool: PostgresPool
  private let hashes: [Int64]

  /// - Parameter hashes: what the client id was hashed to, by any key (``ClientHasher/hashes(app:id:)``).
  package init(_ pool: PostgresPool, hashes: [UInt64]) {
    self.pool = pool
    self.hashes = hashes.map { Int64(bitPattern: $0) }
  }

  /// Every request of the client that is stored, with what became of it, oldest first.
  package func export() throws(PostgresError) -> [JSONValue] {
    var requests: [JSONValue] = []
    for piece in try pieces() {
      requests += try pool.snapshot { connection throws(PostgresError) in
        try ReconciliationStatement.choosePlans(connection)
        return try connection.run(ReadClientRequests(hashes: hashes, range: piece))
      }
    }
    return requests
  }

  /// Takes the client out of everything, piece by piece. What was charged stays: it never said whose it was.
  ///
  /// - Parameter now: by the caller's clock.
  package func erase(now: Timestamp) throws(PostgresError) -> Erased {
    var erased = Erased(requests: 0)
    for piece in try pieces() {
      erased.requests += try pool.withConnection { connection throws(PostgresError) in
        try connection.run(EraseClient(hashes: hashes, range: piece)).first ?? 0
      }
    }
    guard erased.requests > 0 else { return erased }
    let windows = try pool.snapshot { connection throws(PostgresError) in
      try StoredWindows.read(in: connection).longest
    }
    let expiry = now.advanced(byMilliseconds: windows.longestTokenLifeMilliseconds)
    erased.againAfter = windows.lastClickArrival(expiresAt: expiry)
    return erased
  }

  /// Whether the catalogue has this app: where it has not, and nothing is found, its id may be a mistake.
  package func isRegistered(_ app: AppID) throws(PostgresError) -> Bool {
    try pool.snapshot { connection throws(PostgresError) in
      try connection.run(IsRegistered(key: "app/\(app)")).first ?? false
    }
  }

  /// Everything that has rows, cut into pieces that take a moment each.
  private func pieces() throws(PostgresError) -> [ServeRange] {
    try pool.snapshot { connection throws(PostgresError) in
      try ServePieces.days(from: 0, in: connection).filter { $0.bytes > 0 }
        .flatMap { ServePieces.pieces(ServePieces.day($0.from), bytes: $0.bytes) }
    }
  }
}
