import AdCore
import AdEvents
import BillingCore
import Pipeline
import Postgres
import Runtime

/// Everything that a batch does to budgets, in one call of one SQL function; it returns the grants.
struct Settle: PostgresStatement {
  static let sql = """
    SELECT id, ordinal, campaign, budget_day, amount, serve_until, campaign_free, granted_at FROM billing.settle(
      $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
      $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35)
    """
  let partition: Int32
  let batchNumber: Int64
  let now: Timestamp
  /// The sequence that the next grant gets.
  let nextSequence: Int64
  let effects: BillingEffects
  private let levels: BudgetLevels

  init(partition: Int32, batchNumber: Int64, now: Timestamp, nextSequence: Int64, effects: BillingEffects) {
    self.partition = partition
    self.batchNumber = batchNumber
    self.now = now
    self.nextSequence = nextSequence
    self.effects = effects
    levels = BudgetLevels(
      Set(
        effects.closes.map(\.place) + effects.ends.map(\.place) + effects.draws.map(\.place)
          + effects.asks.map(\.place)))
  }

  init(_ batch: CommitBatch<BillingService>) {
    self.init(
      partition: batch.partition, batchNumber: batch.number, now: batch.committedAt,
      nextSequence: batch.outputs[0].position.nextSequence, effects: batch.effects)
  }

  /// Whether there is anything to do.
  var isNeeded: Bool { !levels.days.isEmpty || !effects.allotmentCharges.isEmpty || !effects.journal.isEmpty }

  var parameters: [any PostgresValue] {
    let place: [any PostgresValue] = [
      partition, batchNumber, now.postgres, levels.advertisers.map(\.text), levels.currencies.map(\.text),
      levels.campaigns.map(\.text), levels.campaignAccounts, levels.days, levels.dayCampaigns,
    ]
    return place + allotments + draws + asks + journal
  }

  private var allotments: [any PostgresValue] {
    let charges = effects.allotmentCharges.sorted { $0.key < $1.key }
    return [
      charges.map { Int64(bitPattern: $0.key) }, charges.map(\.value),
      effects.closes.map { Int64(bitPattern: $0.allotment) }, effects.closes.map(\.used.value),
      effects.closes.map(\.closedAt.postgres), effects.closes.map { levels.index(of: $0.place) },
      effects.ends.map { Int64(bitPattern: $0.allotment) }, effects.ends.map { levels.index(of: $0.place) },
    ]
  }

  /// The events themselves are rows of `billing.draw` by now.
  private var draws: [any PostgresValue] {
    [
      effects.draws.map { effects.charges[$0.charge].event.price.value }, effects.draws.map(\.isLate),
      effects.draws.map { levels.index(of: $0.place) },
    ]
  }

  private var asks: [any PostgresValue] {
    [
      effects.asks.map(\.ordinal), effects.asks.map(\.fullPrice.value), effects.asks.map(\.usedLastMinute.value),
      effects.asks.map(\.endsAt.postgres), effects.asks.map { levels.index(of: $0.place) },
    ]
  }

  private var journal: [any PostgresValue] {
    let entries = Array(effects.journal.entries)
    return [
      entries.map(\.key.account.text), entries.map(\.key.currency.text), entries.map(\.value.debit),
      entries.map(\.value.credit), Topic.budgets.name, nextSequence, effects.partitionCount,
      effects.settings.quietServeMilliseconds, effects.settings.usualServeMilliseconds,
      effects.settings.scarceServeMilliseconds,
    ]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> NumberedMessage { try GrantRow.message(row) }
}
