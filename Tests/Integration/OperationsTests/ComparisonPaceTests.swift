import AdCore
import LocalProcesses
import Postgres
import Synchronization
import TestServices
import TestValues
import Testing

@testable import Operations
@testable import Runtime

/// Time that goes on by as much each time it is asked for, so that a statement takes as long whatever the machine does.
private struct CountedTime: TimeSource {
  static let stepMilliseconds: Int64 = 7
  private let clock: MovingClock

  init(_ start: Timestamp) { clock = MovingClock(start) }

  var now: Timestamp { clock.now }
  var monotonicMilliseconds: Int64 {
    clock.advance(byMilliseconds: Self.stepMilliseconds)
    return now.milliseconds
  }
}

@Suite("Pace of comparisons")
struct ComparisonPaceTests {
  /// The rests that something takes, which goes on for so many of them; and what happens in each.
  private final class Rests: Sendable {
    private let taken = Mutex<[Int64]>([])
    private let most: Int
    private let meanwhile: @Sendable (Int) -> Void

    init(most: Int = .max, meanwhile: @escaping @Sendable (Int) -> Void = { _ in }) {
      self.most = most
      self.meanwhile = meanwhile
    }

    var all: [Int64] { taken.withLock { $0 } }

    func pace(_ start: Timestamp = SealingTests.now) -> ComparisonPace {
      ComparisonPace(clock: CountedTime(start)) { [self] in take($0) }
    }

    func take(_ milliseconds: Int64) -> Bool {
      let count = taken.withLock { taken in
        taken.append(milliseconds)
        return taken.count
      }
      meanwhile(count)
      return count < most
    }
  }

  private static let usual = 9 * CountedTime.stepMilliseconds

  static func context(_ metrics: [MetricDeclaration]) -> ServiceContext {
    ServiceContext(
      logger: .unread, metrics: MetricsRegistry(metrics), health: Health(), lifeCycle: LifeCycle(logger: .unread),
      clock: CountedTime(SealingTests.now))
  }

  /// Comparisons by sums.
  private static let sums =
    PipelineChecks.all.count + MoneyChecks.all.count + TrafficChecks.sums.count + SealChecks.all.count + 1
  /// Comparisons of a piece, and what of it is final. Each of the five days is one piece.
  private static let ofPiece = TrafficChecks.ofServes.count + TrafficChecks.ofServesApart.count + 1
  /// Comparisons of a piece that is to be sealed.
  private static let ofSealedPiece =
    TrafficChecks.ofServes.count + TrafficChecks.ofServesApart.count + TrafficChecks.ofSealing.count

  @Test("each statement is followed by a rest of nine times its length, when days are sealed too")
  func rests() async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      let rests = Rests()
      let compared = try Reconciler(days.pool, pace: rests.pace()).reconcile()
      #expect(compared.differences == 0, "\(compared.text)")
      // Looking for each day, and that there is no further one; at the end what is in flight.
      #expect(rests.all.count == Self.sums + 5 * (1 + Self.ofPiece) + 2)
      #expect(rests.all.allSatisfy { $0 == Self.usual })
    }
  }

  @Test("a day is sealed with rests, and without where it is late already; it says how many wait")
  func sealing() async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      let hurried = Rests()
      for due in Int64(1)...3 {
        let result = try DaySealer(days.pool, pace: hurried.pace().hurried).sealNext(now: SealingTests.now)
        guard case .sealed(_, 4 - due) = result else {
          Issue.record("\(result)")
          return
        }
      }
      #expect(!hurried.all.isEmpty && hurried.all.allSatisfy { $0 == 0 })
      let rests = Rests()
      _ = try DaySealer(days.pool, pace: rests.pace()).sealNext(now: SealingTests.now)
      let parts = SealParts.ofServes.count + SealParts.ofMinutes.count + SealParts.ofBatches.count
      #expect(rests.all.count == Self.sums + Self.ofSealedPiece + parts)
      #expect(rests.all.allSatisfy { $0 == Self.usual })
      #expect(try days.sealedUntil() == "2030-03-05T00:00:00Z")
    }
  }

  @Test("the first comparison after a start takes no rests, and the next one does")
  func firstComparison() async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      let interval: Int64 = 60_000
      let steps = Self.sums + 5 * (1 + Self.ofPiece) + 2
      // With what is counted of unfunded events behind each.
      let rests = Rests(most: 2 * (steps + 2))
      ReconciliationWatch(
        pool: days.pool, intervalMilliseconds: Int(interval), context: Self.context(ReconciliationWatch.metrics)
      ).run { rests.take($0) }
      let (hurried, paced) = ([Int64](repeating: 0, count: steps + 1), [Int64](repeating: Self.usual, count: steps + 1))
      #expect(rests.all == hurried + [interval] + paced + [interval])
    }
  }

  @Test("sealing rests, but from one day to the next while days wait")
  func firstSealing() async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      let pause: Int64 = 600_000
      let rests = Rests(most: 4 * (Self.sums + 200))
      SealWatch(pool: days.pool, context: Self.context(SealWatch.metrics)).run { $0 == pause ? false : rests.take($0) }
      let first = rests.all.prefix { $0 > 0 }
      #expect(first.allSatisfy { $0 == Self.usual } && first.count > Self.sums)
      #expect(rests.all.count > 3 * first.count && rests.all[first.endIndex...].allSatisfy { $0 == 0 })
      let sealedUntil = try days.sealedUntil()
      #expect(sealedUntil == "2030-03-05T00:00:00Z")
    }
  }

  @Test("a statement that fails is followed by a rest as well")
  func failure() async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      try days.run("DROP TABLE sealed.head CASCADE")
      let rests = Rests()
      #expect(throws: PostgresError.self) { try Reconciler(days.pool, pace: rests.pace()).reconcile() }
      #expect(rests.all == [Self.usual])
    }
  }

  @Test("a process that stops ends its comparison with the statement that is running, in nobody's way")
  func stop() async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      for most in [3, Self.sums + 3] {
        let rests = Rests(most: most)
        #expect(throws: PostgresError.self) { try Reconciler(days.pool, pace: rests.pace()).reconcile() }
        #expect(rests.all.count == most)
      }
      // The last one in the middle of what it writes.
      for most in [3, Self.sums + 2, Self.sums + Self.ofSealedPiece + 5] {
        let sealing = Rests(most: most)
        #expect(throws: PostgresError.self) {
          try DaySealer(days.pool, pace: sealing.pace()).sealNext(now: SealingTests.now)
        }
        #expect(sealing.all.count == most)
      }
      let sealedUntil = try days.sealedUntil()
      #expect(sealedUntil == nil)
      guard case .sealed = try DaySealer(days.pool).sealNext(now: SealingTests.now) else {
        Issue.record("it was not sealed")
        return
      }
    }
  }

  /// Behind so many comparisons by sums and further ones: before the first day's serves, among them, and later.
  @Test("serves of a day that is sealed while others are compared count once", arguments: [-5, 1, 3, 6, 9, 20])
  func sealedMeanwhile(rest: Int) async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      let before = try Reconciler(days.pool).reconcile()
      let idle = Mutex<[Int64]>([])
      let rests = Rests { count in
        guard count == Self.sums + rest else { return }
        _ = try? DaySealer(days.pool).sealNext(now: SealingTests.now)
        let open = """
          SELECT count(*) FROM pg_stat_activity
          WHERE state LIKE 'idle in transaction%' AND datname = current_database()
          """
        idle.withLock { $0.append((try? days.number(open)) ?? -1) }
      }
      let meanwhile = try Reconciler(days.pool, pace: rests.pace()).reconcile()
      #expect(meanwhile.sealedUntil != nil)
      #expect(meanwhile.differences == 0, "\(meanwhile.text)")
      #expect(meanwhile.finality == before.finality)
      // It rests in no transaction: one would hold a snapshot.
      #expect(idle.withLock { $0 } == [0])
    }
  }

  @Test("a day that another process seals while this one compares it is left to that one", arguments: [-5, 2, 8])
  func sealedByAnother(rest: Int) async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      let rests = Rests { count in
        if count == Self.sums + rest { _ = try? DaySealer(days.pool).sealNext(now: SealingTests.now) }
      }
      let result = try DaySealer(days.pool, pace: rests.pace()).sealNext(now: SealingTests.now)
      guard case .busy = result else {
        Issue.record("\(result)")
        return
      }
      #expect(try days.number("SELECT count(*) FROM sealed.part") == 0)
      #expect(try days.sealedUntil() == "2030-03-02T00:00:00Z")
    }
  }
}
