internal import AdCore
internal import AdEvents

/// How long the next ask for a budget is to wait: longer with each that cannot be granted, so that a budget that is sold
/// out is not looked at each second for every partition.
///
/// A memory of what was said, and nothing that a ledger depends on (I4): an ask that comes all the same is looked at.
/// Whoever takes the partition over begins with none.
struct RefusedAsks {
  private struct Refusal {
    var at: Timestamp
    var waitMilliseconds: Int64
  }

  /// So many budgets are remembered; asks for further ones wait the shortest time.
  static let budgetsMaximum = 10_000

  /// The first wait and the longest, in milliseconds.
  private let waits: ClosedRange<Int64>
  private var refusals: [BudgetKey: Refusal] = [:]

  init(waits: ClosedRange<Int64>) { self.waits = waits }

  /// The answer to an ask that cannot be granted now.
  mutating func refuse(_ ask: AllotmentAsk, now: Timestamp) -> AllotmentRefusal {
    let budget = BudgetKey(ask)
    let wait = refusals[budget].map { min(2 * $0.waitMilliseconds, waits.upperBound) } ?? waits.lowerBound
    if refusals[budget] == nil, refusals.count >= Self.budgetsMaximum { forgetOld(now) }
    if refusals[budget] != nil || refusals.count < Self.budgetsMaximum {
      refusals[budget] = Refusal(at: now, waitMilliseconds: wait)
    }
    return AllotmentRefusal(
      campaign: ask.campaign, budgetDay: ask.budgetDay, ordinal: ask.ordinal, waitMilliseconds: wait)
  }

  /// Something was granted from the budget, or came back to it.
  mutating func forget(_ budget: BudgetKey) { refusals[budget] = nil }

  /// Forgets what nobody asks for any more: whoever is told to wait asks soon afterwards.
  private mutating func forgetOld(_ now: Timestamp) {
    refusals = refusals.filter { abs(now.milliseconds(since: $0.value.at)) <= 2 * waits.upperBound }
  }
}
