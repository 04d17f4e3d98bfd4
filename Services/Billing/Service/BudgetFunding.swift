internal import AdCore
internal import AdEvents
internal import PipelineHost
internal import Postgres
internal import Runtime
internal import Synchronization

/// Brings the catalogue's budgets into the database, as they are published.
final class BudgetFunding: Sendable {
  /// The most messages that wait while the database is away. What is dropped comes again: the console publishes all of
  /// the catalogue every 30 s.
  private static let waitingMaximum = 20_000

  private let catalog: BudgetCatalog
  private let database: PostgresConfiguration
  private let logger: Logger
  private let waiting = Mutex<[CatalogMessage]>([])

  init(catalog: BudgetCatalog, database: PostgresConfiguration, logger: Logger) {
    self.catalog = catalog
    self.database = database
    self.logger = logger
  }

  /// Takes what was published, in order, and what waits from before. Called by the catalogue's thread alone.
  func take(_ items: [CatalogFollower.Item]) {
    var messages = waiting.withLock { waiting in
      defer { waiting = [] }
      return waiting
    }
    for item in items { if case .message(let message) = item { messages.append(message) } }
    let rest = apply(messages)
    for item in items { if case .tombstone(let key) = item { catalog.forgetDeletion(of: key) } }
    waiting.withLock { $0 = Array(rest.prefix(Self.waitingMaximum)) }
  }

  /// Returns what could not be brought in because the database is away.
  private func apply(_ messages: [CatalogMessage]) -> ArraySlice<CatalogMessage> {
    var rest = messages.filter { !catalog.knows($0) }[...]
    guard !rest.isEmpty else { return rest }
    do throws(PostgresError) {
      let connection = try PostgresConnection(database)
      defer { connection.close() }
      while let message = rest.first {
        if let change = catalog.currencyChange(message) {
          logger.error(
            "an advertiser's currency was changed: what is booked stays in an account of its own",
            [
              "advertiser": .init(change.advertiser.text), "before": .init("\(change.before)"),
              "after": .init("\(change.after)"),
            ])
        }
        do throws(PostgresError) {
          try catalog.apply(message, in: connection)
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
}
