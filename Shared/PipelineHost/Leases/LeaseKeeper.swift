internal import Pipeline
internal import Postgres
internal import Runtime
internal import Threads

/// Keeps this instance's quota of its service's partitions, on a thread of its own: reads each half second who else is
/// there (``LeaseStore``), and tells the reader what follows from it (``LeaseRules``).
///
/// A lease says who is to work, not who may write: that is the epoch's part, and two owners at once do no harm. So
/// whoever loses the session with the database goes on until somebody fences it.
final class LeaseKeeper: @unchecked Sendable {
  // `@unchecked Sendable` holds because the store and the rules are touched by `run`'s thread only.
  private let store: LeaseStore
  private var rules = LeaseRules()
  private let holdings: PartitionHoldings
  private let partitionCount: @Sendable () -> Int32
  private let order: @Sendable (LeaseOrder) -> Void
  private let logger: Logger
  private let heartbeat: @Sendable () -> Void
  private let isStopping = Locked(false)
  private let bell = Mailbox<Void>()
  private let clock = SystemClock()
  private var retry = LeaseKeeper.freshRetry
  private var thread: OwnerThread?

  private static let roundMilliseconds: Int64 = 500
  /// While partitions change hands.
  private static let hastyRoundMilliseconds: Int64 = 100
  private static var freshRetry: Retry { Retry(baseMilliseconds: 50, boundMaximumMilliseconds: 500) }

  /// - Parameter order: is told what to do, from the keeper's thread.
  init(
    store: LeaseStore, holdings: PartitionHoldings, partitionCount: @escaping @Sendable () -> Int32, logger: Logger,
    heartbeat: @escaping @Sendable () -> Void, order: @escaping @Sendable (LeaseOrder) -> Void
  ) {
    self.store = store
    self.holdings = holdings
    self.partitionCount = partitionCount
    self.logger = logger
    self.heartbeat = heartbeat
    self.order = order
  }

  /// Call once, before ``leave()``.
  func start() { thread = OwnerThread("leases") { [self] in run() } }

  /// Something was given up: others are to have it soon.
  func ring() { bell.put(()) }

  /// Frees all partitions and takes part no more. Blocks.
  func leave() {
    isStopping.withLock { $0 = true }
    ring()
    thread?.join()
  }

  private func run() {
    while !isStopping.withLock({ $0 }) {
      heartbeat()
      let rest = workOrWait()
      if rest > 0 { _ = bell.takeAll(timeoutMilliseconds: Int(rest)) }
    }
    store.leave()
  }

  /// - Returns: after how many milliseconds the next beat is due.
  private func workOrWait() -> Int64 {
    do throws(PostgresError) {
      if !store.isMember { try join() }
      let before = holdings.phases
      guard let view = try store.readView(partitionCount: partitionCount()) else {
        logger.warning("others took this instance for gone: it stood still, or could not be seen")
        try join()
        return 0
      }
      retry.reset()
      return try follow(view, held: PartitionHoldings.around(before, holdings.phases))
    } catch {
      logger.limited(.warning, key: "leases", "the leases cannot be read", ["error": .init(error.description)])
      var random = SystemRandomNumberGenerator()
      return 1 + (retry.delayMilliseconds(now: 0, using: &random) ?? 0)
    }
  }

  private func join() throws(PostgresError) {
    let isReturn = store.member != nil
    try store.join()
    holdings.member = store.member
    if isReturn { rules.hasReturned(now: clock.monotonicMilliseconds) }
    logger.info("takes part", ["member": .init(Int(store.member ?? 0))])
  }

  private func follow(_ view: LeaseView, held: [Int32: LeasePhase]) throws(PostgresError) -> Int64 {
    let decision = rules.decide(view, held: held, now: clock.monotonicMilliseconds)
    guard decision.expelled.isEmpty else {
      logger.info("members are gone", ["members": .init("\(decision.expelled.sorted())")])
      try store.expel(decision.expelled)
      return 0
    }
    if !decision.lost.isEmpty { order(.lose(decision.lost)) }
    if !decision.released.isEmpty { order(.release(decision.released)) }
    if !decision.taken.isEmpty { order(.take(decision.taken)) }
    order(.balanced(decision.isBalanced))
    try store.clear(decision.cleared)
    return decision.isBalanced ? Self.roundMilliseconds : Self.hastyRoundMilliseconds
  }
}
