import AdCore
import LocalProcesses
import Postgres
import Runtime
import Synchronization
import TestServices
import TestValues
import Testing

@testable import Operations

/// Time that goes on by as much each time it is asked for, so that a statement takes as long whatever the machine does.
private struct CountedTime: TimeSource {
  static let stepMilliseconds: Int64 = 7
  private let clock: MovingClock

  init(_ start: Timestamp) { clock = MovingClock(start) }

  var now: Timestamp { clock.now() }
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
      ComparisonPace(clock: CountedTime(start)) { [self] milliseconds in
        let count = taken.withLock { taken in
          taken.append(milliseconds)
          return taken.count
        }
        meanwhile(count)
        return count < most
      }
    }
  }

  @Test("each statement is followed by a rest of nine times its length, when days are sealed too")
  func rests() async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      let rests = Rests()
      let compared = try Reconciler(days.pool, pace: rests.pace()).reconcile()
      #expect(compared.differences == 0, "\(compared.text)")
      // Sums, and of each of the five days its serves and what of them is final.
      let statements = TrafficChecks.ofServes.count + TrafficChecks.ofServesApart.count + 1
      #expect(rests.all.count > 5 * statements)
      #expect(rests.all.allSatisfy { $0 == 9 * CountedTime.stepMilliseconds })

      let sealing = Rests()
      _ = try DaySealer(days.pool, pace: sealing.pace()).sealNext(now: SealingTests.now)
      #expect(try days.sealedUntil() != nil)
      let parts = SealParts.ofServes.count + SealParts.ofMinutes.count + SealParts.ofBatches.count
      #expect(sealing.all.count > statements + parts)
      #expect(sealing.all.allSatisfy { $0 == 9 * CountedTime.stepMilliseconds })
    }
  }

  @Test("a process that stops ends its comparison with the statement that is running, and seals nothing")
  func stop() async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      let rests = Rests(most: 3)
      #expect(throws: PostgresError.self) { try Reconciler(days.pool, pace: rests.pace()).reconcile() }
      #expect(rests.all.count == 3)
      let sealing = Rests(most: 3)
      #expect(throws: PostgresError.self) {
        try DaySealer(days.pool, pace: sealing.pace()).sealNext(now: SealingTests.now)
      }
      #expect(sealing.all.count == 3)
      let sealedUntil = try days.sealedUntil()
      #expect(sealedUntil == nil)
    }
  }

  @Test("serves of a day that is sealed while others are compared count once", arguments: [10, 40, 60])
  func sealedMeanwhile(rest: Int) async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      let before = try Reconciler(days.pool).reconcile()
      let rests = Rests { count in
        if count == rest { _ = try? DaySealer(days.pool).sealNext(now: SealingTests.now) }
      }
      let meanwhile = try Reconciler(days.pool, pace: rests.pace()).reconcile()
      #expect(rests.all.count > rest)
      #expect(meanwhile.sealedUntil != nil)
      #expect(meanwhile.differences == 0, "\(meanwhile.text)")
      #expect(meanwhile.finality == before.finality)
    }
  }
}
