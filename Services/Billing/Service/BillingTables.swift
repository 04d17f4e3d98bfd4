internal import AdCore
internal import BillingCore
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Billing's own tables.
struct BillingTables: ServiceTables {
  typealias Service = BillingService

  private let settings: BillingSettings
  private let catalog: BudgetCatalog
  private let logger: Logger
  /// Shared by all partitions.
  private let memory = BillingMemory()

  let consumers = ["ad_selection"]
  var windows: Windows { settings.windows }

  init(settings: BillingSettings, catalog: BudgetCatalog, logger: Logger) {
    self.settings = settings
    self.catalog = catalog
    self.logger = logger
  }

  func load(
    _ partition: Int32, now: Timestamp, from connection: PostgresConnection
  ) throws(PostgresError) -> BillingDecider {
    // A partition is opened anew where the database may be another one.
    catalog.forgetStored()
    _ = try connection.run(NoteUnfundedCap(partition: partition, cap: settings.caps.unfundedPerDay))
    return BillingDecider(
      settings: settings, open: try connection.run(ReadOpenAllotments(partition: partition)),
      waiting: Set(try connection.run(ReadWaitingBudgets(partition: partition))),
      hours: StoredAppHours(try connection.run(ReadAppHours(partition: partition, now: now)), now: now),
      lostServes: try connection.run(ReadLostServes(partition: partition)),
      lostGrants: try connection.run(ReadLostGrants(partition: partition)), memory: memory)
  }

  /// The catalogue is in memory; what it says is in the tables already.
  func lookUp(
    _ query: BillingQuery, partition: Int32, in connection: PostgresConnection
  ) throws(PostgresError) -> BillingKnowledge {
    var knowledge = BillingKnowledge(campaigns: catalog.terms(of: query.campaigns))
    if !query.campaigns.isEmpty {
      let rows = try connection.run(ReadClickCounts(partition: partition, campaigns: query.campaigns))
      knowledge.clickCounts = [CampaignID: ClickCounts](rows, of: query.campaigns)
    }
    if query.isOfWaiting { knowledge.waiting = Set(try connection.run(ReadWaitingBudgets(partition: partition))) }
    if !query.appHours.isEmpty {
      let found = try connection.run(FindAppHours(partition: partition, asked: query.appHours))
      knowledge.appHours = Dictionary(found.map { ($0.key, $0.count) }) { $1 }
    }
    return knowledge
  }

  func rows(_ batch: CommitBatch<BillingService>, terms: TermsBook) -> [TableRows] {
    let (packs, others) = ChargePacks.split(batch.effects.charges)
    return [
      ChargeRows.rows(others, of: batch, terms: terms), ChargePacks.rows(packs, of: batch, terms: terms),
      HeldRows.rows(batch, terms: terms),
    ]
  }

  func finish(
    _ batch: CommitBatch<BillingService>, terms: TermsBook, with statements: inout StatementBatch
  ) -> CommitReader {
    for suspended in batch.effects.suspended {
      statements.send(Suspend(partition: batch.partition, batchNumber: batch.number, suspended: suspended))
    }
    if !batch.effects.clickCounts.isEmpty {
      statements.send(
        AddClickCounts(
          partition: batch.partition, counts: batch.effects.clickCounts,
          rememberedImpressions: settings.rememberedImpressions))
    }
    if !batch.effects.appHours.isEmpty {
      statements.send(AddAppHours(partition: batch.partition, counts: batch.effects.appHours))
    }
    let settle = Settle(batch, terms: terms)
    let ticket = settle.isNeeded ? statements.send(settle) : nil
    let partition = batch.partition
    let suspended = batch.effects.suspended
    return { [logger] (results: StatementBatchResults) throws(PostgresError) -> CommitResult in
      let messages = if let ticket { try results.rows(ticket) } else { [NumberedMessage]() }
      for event in suspended {
        logger.critical(
          "an accepted event could not be charged and is in suspense",
          [
            "partition": .init(Int(partition)), "serve_id": .init(event.event.terms.serveID.description),
            "sequence": .init(Int(event.sequence)), "reason": .text(event.reason),
          ])
      }
      return CommitResult(messages: messages)
    }
  }

  func countRows(_ counts: [RevenueMinute: RevenueSums], partition: Int32) -> TableRows {
    RevenueRows.rows(counts, partition: partition)
  }

  static let countAgain = [RevenueRows.countAgain]

  func messages(
    partition: Int32, output: Int, from sequence: Int64, limit: Int, in connection: PostgresConnection
  ) throws(PostgresError) -> [NumberedMessage] {
    try connection.run(ReadGrants(partition: partition, from: sequence, limit: limit))
  }
}

extension BillingTables {
  /// The tables that are cut by day, kept for as long as `retention` says.
  static func days(_ retention: Retention) -> DayTables {
    // What is kept for charges is kept while a day has rows of their own: those go last.
    DayTables(
      ["billing.charge_pack", "billing.charge_row"], counts: CountTables("billing", "revenue", retention: retention),
      retention: retention)
  }
}
