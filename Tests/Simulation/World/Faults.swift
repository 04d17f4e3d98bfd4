import AdCore
import Pipeline

/// Everything that can go wrong in a simulated world; each must really happen within the smoke's seeds.
enum Fault: String, CaseIterable {
  case crashBeforeCall, crashAfterCommit, crashAfterCall
  case connectionLost, commitAnswerLost
  case restart, handover, zombieFenced
  case producerFailed, deliveredButUnreported, droppedInFlight, sentBeforeTold
  case lateRecordOfZombie, recordAppendedTwice, recordCorrupted
  case offsetHole, retentionPassedConsumer, logReplaced, sequenceAhead, missingAnswered
  case clientResend, clientForged, clientUnknownKey, clientGarbage, wrongPartition, unknownPartition
  case borderEvent, clockSkew, timestampRegression, clockJump
  case oldIDReplayed, rowRefused, batchHalved, partitionUnreadable
  case staleEnd
  case clickBeforeImpression, clickLimited, clickRepeated, clickWithoutImpression
}

/// How often each fault happened.
struct Coverage: Sendable {
  private(set) var counts: [Fault: Int] = [:]

  mutating func note(_ fault: Fault, _ times: Int = 1) { counts[fault, default: 0] += times }

  mutating func merge(_ other: Coverage) { counts.merge(other.counts, uniquingKeysWith: +) }

  /// Faults that never happened.
  var absent: [Fault] { Fault.allCases.filter { counts[$0, default: 0] == 0 } }

  var table: String {
    Fault.allCases.map { fault in
      let name = fault.rawValue.padding(to: 24)
      return "  \(name) \(counts[fault, default: 0])"
    }.joined(separator: "\n")
  }
}

extension String {
  fileprivate func padding(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}

/// A step of the protocol that is left out or done wrongly on purpose: the auditor must see it.
enum Sabotage: String, CaseIterable, Sendable {
  /// A store whose fence lets everybody through.
  case skipFence
  /// Messages go out before the transaction that makes them.
  case publishBeforeCommit
  /// What may not have been delivered is not published again.
  case dropRepublishing
  /// A record further on than the next sequence is taken all the same.
  case takeAhead
  /// The windows end a millisecond late.
  case stretchWindows
  /// Results are committed, the position is not.
  case forgetPosition
  /// A consumer of watermarks takes its own clock instead: what waits ends by the wall clock.
  case wallClock
  /// A sequence that a consumer misses is never sent again.
  case ignoreMissing
  /// A producer made anew takes messages before its partitions know that the older one lost some.
  case sendBeforeTold
}

/// The calls through which the pipeline reaches the world.
enum PortCall: Hashable {
  case acquire, load, look, commit, keep, messages, outbox, missing, probe, send
}

/// What happens to one call.
enum CallFate {
  case fine
  case crashBefore
  case crashAfter
  case lostBefore
  case lostAfter
}
