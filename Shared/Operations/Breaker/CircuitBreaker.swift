package import AdEvents

/// Decides whether paid ads may be served, from what passes over the accounts find. Pure: passes and times come in.
///
/// Transitions: `open(reconciliationStale)` at first; the first pass without a fault closes it at once, unless one before
/// it saw a difference: a network that starts is behind, and nothing more. `closed` becomes `open` with a reason that
/// holds in ``Limits/confirmations`` passes in a row, and with `reconciliationStale` when no pass came for
/// ``Limits/staleMilliseconds``. `open` becomes `open` with the lowest reason of a pass that finds one, and `closed` after
/// ``Limits/cleanPasses`` passes in a row that find none. So a transient neither opens nor closes it.
package struct CircuitBreaker: Hashable, Sendable {
  package struct Limits: Hashable, Sendable {
    /// Passes in a row that must find a reason before it opens: 1 or more.
    package var confirmations = 2
    /// Passes in a row without a fault before it closes: 1 or more.
    package var cleanPasses = 5
    /// How far behind deciding and charging may be, in milliseconds.
    package var lagMilliseconds: Int64 = 120_000
    /// How far apart clocks may be, in milliseconds.
    package var clockErrorMilliseconds: Int64 = 5_000
    /// After how long without a pass it opens, in milliseconds.
    package var staleMilliseconds: Int64 = 60_000

    package init() {}
  }

  /// What one pass found.
  package struct Pass: Hashable, Sendable {
    /// Rows of I6 and I7 that must agree and do not.
    package var differences: Int64
    /// The age of what is decided and charged completely, of the partition furthest behind.
    package var lagMilliseconds: Int64
    /// The greatest difference seen between two clocks.
    package var clockErrorMilliseconds: Int64

    package init(differences: Int64 = 0, lagMilliseconds: Int64 = 0, clockErrorMilliseconds: Int64 = 0) {
      self.differences = differences
      self.lagMilliseconds = lagMilliseconds
      self.clockErrorMilliseconds = clockErrorMilliseconds
    }
  }

  package enum State: Hashable, Sendable {
    case closed
    case open(PaidAdsStop)
  }

  package let limits: Limits
  package private(set) var state = State.open(.reconciliationStale)
  /// Never closed, and no pass has seen a difference.
  private var isStarting = true
  private var lastPassMilliseconds: Int64
  /// How many of the last passes in a row found each reason.
  private var found: [PaidAdsStop: Int] = [:]
  private var cleanPasses = 0

  /// - Parameter now: monotonic, in milliseconds.
  package init(limits: Limits = Limits(), now: Int64) {
    self.limits = limits
    lastPassMilliseconds = now
  }

  /// Why paid ads are stopped; nil while they are served.
  package var stop: PaidAdsStop? {
    switch state {
    case .closed: nil
    case .open(let reason): reason
    }
  }

  /// Takes a pass that began at `now` (monotonic, in milliseconds).
  package mutating func note(_ pass: Pass, now: Int64) {
    advance(to: now)
    lastPassMilliseconds = max(lastPassMilliseconds, now)
    let reasons = faults(of: pass)
    found = Dictionary(uniqueKeysWithValues: reasons.map { ($0, (found[$0] ?? 0) + 1) })
    cleanPasses = reasons.isEmpty ? cleanPasses + 1 : 0
    if pass.differences > 0 { isStarting = false }
    switch state {
    case .closed:
      if let reason = reasons.first(where: { found[$0] ?? 0 >= limits.confirmations }) { state = .open(reason) }
    case .open:
      if let reason = reasons.first {
        state = .open(reason)
      } else if isStarting || cleanPasses >= limits.cleanPasses {
        state = .closed
        isStarting = false
      }
    }
  }

  /// Time has passed: without a pass for too long nobody knows whether the accounts agree.
  package mutating func advance(to now: Int64) {
    guard now - lastPassMilliseconds >= limits.staleMilliseconds else { return }
    cleanPasses = 0
    found = [:]
    if state == .closed { state = .open(.reconciliationStale) }
  }

  /// In the order of their numbers.
  private func faults(of pass: Pass) -> [PaidAdsStop] {
    var reasons: [PaidAdsStop] = []
    if pass.differences > 0 { reasons.append(.difference) }
    if pass.lagMilliseconds > limits.lagMilliseconds { reasons.append(.lag) }
    if pass.clockErrorMilliseconds > limits.clockErrorMilliseconds { reasons.append(.clockError) }
    return reasons
  }
}
