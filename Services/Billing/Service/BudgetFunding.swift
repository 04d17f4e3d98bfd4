internal import AdCore
internal import AdEvents
internal import PipelineHost
internal import Postgres
internal import Runtime
internal import Synchronization

/// Brings the catalogue's budgets into the database, as they are published.
final class BudgetFunding: Sendable {
  /// The most items that wait while the database is away. What is dropped comes again: the console publishes all of
  /// the catalogue again and again, and tombstones when it starts.
  private static let waitingMaximum = 20_000

  private let catalog: BudgetCatalog
  private let database: PostgresConfiguration
  private let logger: Logger
  private let waiting = Mutex<[CatalogFollower.Item]>([])

  init(catalog: BudgetCatalog, database: PostgresConfiguration, logger: Logger) {
    self.catalog = catalog
    self.database = database
    self.logger = logger
  }

  /// Takes what was published, in order, and what waits from before. Called by the catalogue's thread alone.
  func take(_ items: [CatalogFollower.Item]) {
    let before = waiting.withLock { waiting in
      defer { waiting = [] }
      return waiting
    }
    let rest = apply(before + items)
    waiting.withLock { $0 = Array(rest.prefix(Self.waitingMaximum)) }
  }

  /// Returns what could not be brought in because the database is away.
  private func apply(_ items: [CatalogFollower.Item]) -> ArraySlice<CatalogFollower.Item> {
    var rest = items.filter { if case .message(let message) = $0 { !catalog.knows(message) } else { true } }[...]
    guard !rest.isEmpty else { return rest }
    do throws(PostgresError) {
      let connection = try PostgresConnection(database)
      defer { connection.close() }
      while let item = rest.first {
        do throws(PostgresError) {
          try apply(item, in: connection)
        } catch {
          guard error.isDataRefused else { throw error }
          // Without it the campaign gets no allotments: that is the safe side.
          logger.limited(
            .error, key: "refused", "the database refuses a record of the catalogue",
            ["error": .init(error.description)])
        }
        rest = rest.dropFirst()
      }
    } catch {
      logger.limited(
        .warning, key: "database", "budgets wait for the database", ["error": .init(error.description)])
    }
    return rest
  }

  private func apply(_ item: CatalogFollower.Item, in connection: PostgresConnection) throws(PostgresError) {
    switch item {
    case .tombstone(let key): try catalog.forget(key, in: connection)
    case .message(let message):
      if let change = catalog.currencyChange(message) {
        logger.error(
          "an advertiser's currency was changed: what is booked stays in an account of its own",
          [
            "advertiser": .init(change.advertiser.text), "before": .init("\(change.before)"),
            "after": .init("\(change.after)"),
          ])
      }
      try catalog.apply(message, in: connection)
    }
  }
}
