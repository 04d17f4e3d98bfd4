internal import AdCore
internal import AdEvents
internal import BillingCore
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Everything that a batch does to budgets, in one call of one SQL function; it returns the grants.
struct Settle: PostgresStatement {
  /// The function's parameters: rows of a type of the schema `billing`, each with so many columns.
  private static let arguments = [
    RowsArgument("batch", of: "settle_batch", columns: 4, isOne: true),
    RowsArgument("limits", of: "settle_limits", columns: 6, isOne: true),
    RowsArgument("accounts", of: "settle_account", columns: 2),
    RowsArgument("campaigns", of: "settle_campaign", columns: 2),
    RowsArgument("days", of: "settle_day", columns: 2),
    RowsArgument("charges", of: "settle_charge", columns: 4),
    RowsArgument("returned", of: "settle_return", columns: 6),
    RowsArgument("draws", of: "settle_draw", columns: 13),
    RowsArgument("asks", of: "settle_ask", columns: 7),
    RowsArgument("postings", of: "settle_posting", columns: 4),
  ]
  static let sql = """
    SELECT id, ordinal, campaign, budget_day, granted, serve_until, click_rates, granted_at
    FROM billing.settle(\(RowsArgument.list(arguments)), unfunded_cap => $\(arguments.map(\.columns).reduce(1, +)))
    """
  let partition: Int32
  let batchNumber: Int64
  let now: Timestamp
  /// The sequence that the next grant gets.
  let nextSequence: Int64
  let effects: BillingEffects
  private let levels: BudgetLevels
  private let returns: [AllotmentReturn]
  /// The names of the draws' terms, which are stored by now.
  private let drawnTerms: [Int64]

  init(_ batch: CommitBatch<BillingService>, terms: TermsBook) {
    partition = batch.partition
    batchNumber = batch.number
    now = batch.committedAt
    nextSequence = batch.outputs[0].position.nextSequence
    effects = batch.effects
    levels = BudgetLevels(effects.budgets)
    returns = effects.closes.map(AllotmentReturn.init) + effects.ends.map { AllotmentReturn($0, at: batch.committedAt) }
    drawnTerms = effects.draws.map { terms.name(of: batch.effects.charges[$0.charge].event.terms) }
  }

  /// Whether there is anything to do.
  var isNeeded: Bool { !levels.days.isEmpty || !effects.allotmentCharges.isEmpty || !effects.journal.isEmpty }

  var parameters: [any PostgresValue] {
    batch + limits + budgets + charges + returned + draws + asks + postings + unfundedCap
  }

  private var unfundedCap: [any PostgresValue] {
    [effects.settings.caps.unfundedPerDay.value.part(of: effects.partitionCount)]
  }

  private var batch: [any PostgresValue] {
    [partition, batchNumber, now, nextSequence]
  }

  private var limits: [any PostgresValue] {
    [
      effects.partitionCount, effects.settings.quietServeMilliseconds, effects.settings.usualServeMilliseconds,
      effects.settings.scarceServeMilliseconds, effects.settings.scarceClicks, BillingSettings.readyMaximum,
    ]
  }

  private var budgets: [any PostgresValue] {
    [
      levels.advertisers, levels.currencies, levels.campaigns, levels.campaignAccounts, levels.days,
      levels.dayCampaigns,
    ]
  }

  private var charges: [any PostgresValue] {
    let charges = effects.allotmentCharges.sorted { $0.key < $1.key }
    return [
      charges.map(\.key), charges.map(\.value.amount), charges.map(\.value.forClicks),
      charges.map(\.value.reserve),
    ]
  }

  private var returned: [any PostgresValue] {
    [
      returns.map(\.allotment), returns.map(\.state), returns.map(\.used),
      returns.map(\.usedForClicks), returns.map(\.time), returns.map { levels.index(of: $0.budget) },
    ]
  }

  /// Whole: the settlement makes them rows, with the fates that it gives them.
  private var draws: [any PostgresValue] {
    let events = effects.draws.map { effects.charges[$0.charge].event }
    return [
      events.map(\.price), effects.draws.map(\.isLate), effects.draws.map { levels.index(of: $0.budget) },
      events.map(\.terms.serveID), events.map(\.eventTime), events.map(\.idHash), drawnTerms,
      events.map(\.terms.allotment), events.map(\.kind), events.map(\.terms.device), events.map(\.terms.size),
      events.map(\.terms.country), events.map(\.terms.placement),
    ]
  }

  private var asks: [any PostgresValue] {
    [
      effects.asks.map(\.ordinal), effects.asks.map(\.fullPrice), effects.asks.map(\.clickPrice),
      effects.asks.map(\.usedLastMinute), effects.asks.map(\.endsAt), effects.asks.map(\.clickRates),
      effects.asks.map { levels.index(of: $0.budget) },
    ]
  }

  private var postings: [any PostgresValue] {
    let entries = Array(effects.journal.entries)
    return [
      entries.map(\.key.account.text), entries.map(\.key.currency), entries.map(\.value.debit),
      entries.map(\.value.credit),
    ]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> NumberedMessage { try GrantRow.message(row) }
}

/// An allotment that returns what it need not keep: it closes, or ends.
private struct AllotmentReturn {
  var allotment: UInt64
  /// What `billing.allotment.state` becomes.
  var state: AllotmentState
  /// Both 0 at its end, when they are known.
  var used: Nanos
  var usedForClicks: Nanos
  var time: Timestamp
  var budget: BudgetKey

  init(_ close: BillingEffects.Close) {
    allotment = close.allotment
    state = .closed
    used = close.used
    usedForClicks = close.usedForClicks
    time = close.closedAt
    budget = close.budget
  }

  init(_ end: BillingEffects.End, at now: Timestamp) {
    allotment = end.allotment
    state = .ended
    used = .zero
    usedForClicks = .zero
    time = now
    budget = end.budget
  }
}
