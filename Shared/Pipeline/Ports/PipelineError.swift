/// Why a partition cannot go on as it is, by whose trouble it is: whoever is called by an alert looks there first.
package enum PipelineError: Error, Hashable, Sendable {
  /// Somebody else owns the partition now. It is given up without a word.
  case fenced
  /// The database is away, or the fate of a commit is unknown: the partition is opened again, and what the database
  /// then says is what happened.
  case databaseUnavailable(String)
  /// The database is there, and this service cannot use it as it is set up: the login is refused, there is no such
  /// database, the server is read-only. The partition is opened again until a person has mended it.
  case databaseMisconfigured(String)
  /// Kafka does not say where the inputs begin and end, or not what stands there. The partition is opened again.
  case logUnreadable(String)
  /// The producer failed: it is rebuilt, and publishing goes on from what was delivered.
  case producerUnavailable(String)
  /// The log is not the one that the position belongs to. The partition stops until a person decides.
  case logReplaced(topic: String, partition: Int32, detail: String)
  /// The logs tell of commits that the database does not have, or of another database. The partition stops until a person
  /// decides.
  case commitsLost(String)
  /// The partition was asked to work and has no state: it is not open. A mistake of this program.
  case notOpen
  /// What may never be, is: a mistake of this program, or somebody else's rows or records. Nothing was committed; the
  /// partition is opened again, and a person is told.
  case invariantBroken(String)

  /// What kind of trouble it is, as metrics say it.
  package enum Kind: String, CaseIterable, Sendable {
    case fenced
    case databaseUnavailable = "database_unavailable"
    case databaseMisconfigured = "database_misconfigured"
    case logUnreadable = "log_unreadable"
    case producerUnavailable = "producer_unavailable"
    case logReplaced = "log_replaced"
    case commitsLost = "commits_lost"
    case notOpen = "not_open"
    case invariantBroken = "invariant_broken"

    /// Whether this program, or who writes into its tables and topics, is wrong.
    package var isMistake: Bool { self == .notOpen || self == .invariantBroken }

    /// Whether no waiting mends it.
    package var isForPerson: Bool { isMistake || stops || self == .databaseMisconfigured }

    /// Whether the partition stops until a person has decided.
    package var stops: Bool { self == .logReplaced || self == .commitsLost }
  }

  package var kind: Kind {
    switch self {
    case .fenced: .fenced
    case .databaseUnavailable: .databaseUnavailable
    case .databaseMisconfigured: .databaseMisconfigured
    case .logUnreadable: .logUnreadable
    case .producerUnavailable: .producerUnavailable
    case .logReplaced: .logReplaced
    case .commitsLost: .commitsLost
    case .notOpen: .notOpen
    case .invariantBroken: .invariantBroken
    }
  }

  /// What was found, in words.
  package var detail: String {
    switch self {
    case .fenced: "somebody else owns the partition now"
    case .notOpen: "the partition has no state"
    case .logReplaced(let topic, let partition, let detail): "\(topic)[\(partition)]: \(detail)"
    case .databaseUnavailable(let detail), .databaseMisconfigured(let detail), .logUnreadable(let detail),
      .producerUnavailable(let detail), .commitsLost(let detail), .invariantBroken(let detail):
      detail
    }
  }
}
