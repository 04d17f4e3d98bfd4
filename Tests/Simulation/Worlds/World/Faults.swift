import AdCore
import Pipeline

/// Everything that can go wrong in a simulated world; each must really happen within the smoke's seeds.
package enum Fault: String, CaseIterable, Sendable {
  case crashBeforeCall, crashAfterCommit, crashAfterCall
  case connectionLost, commitAnswerLost
  case restart, handover, zombieFenced, staleClaimRefused, rebalanceInMidBatch
  case producerFailed, deliveredButUnreported, droppedInFlight, sentBeforeTold
  case lateRecordOfZombie, recordAppendedTwice, recordCorrupted, topicReplayed, inputsReordered
  case offsetHole, retentionPastConsumer, retentionPastClients, logReplaced, clientTopicReplaced
  case runOfMany, runCutOtherwise, runBisected
  case sequenceAhead, gapRequestsAnswered, topicGrown, sentToPartitionOfLater
  case clientResend, clientForged, clientUnknownKey, clientOfAnother, clientGarbage, wrongPartition, unknownPartition,
    forwardedTooOften
  case borderEvent, impressionAtLastMoment, lateEvent, earlyEvent, expiredEvent, clockSkew, timestampRegression,
    clockStepForward, clockStepBack, brokerClockStep, longPause, keysRotated, tokenOfOldKey
  case backupTaken, databaseRestored, restoredFromHourBefore,
    commitsLostFound, restoreAccepted, restoredWithoutLoss, sequencesPassed,
    heldAsLost,
    replayedAfterRestore, countsOfLostBatches, toldOfLostCommits, logCut, cutLogFound
  case rowsRemoved, lostTold, oldIDReplayed, rowRefused, batchBisected, committedTogether, partitionUnreadable
  case crashAfterFlush, flushAnswerLost, countsRefused, countedAgain, countsFull, stoppedInOrder
  case staleEnd, partitionPaused, partitionFreed, batchDropped, batchWithheld, watermarksWaited
  case clickBeforeImpression, clickLimited, clickRepeated, clickWithoutImpression, impossibleClick, impossibleView
  case clickWaitedForEarlier, clickBeyondDay, viewsInOtherOrder
  case requestRepeated, requestForwarded, requestThrottled, requestPastDeadline, requestOfTestBuild, replyRefused
  case requestMistaken, requestWithoutKey, requestBeyondLimit, requestInJSON, failureWithoutKey,
    appBeyondCap
  case catalogWithoutHeartbeat, breakerOpened, priceChanged, budgetLowered, budgetExhausted, noAllotment
  case otherApp, otherCurrency, targetMissed, adExcluded, bestWithoutBudget, standingChanged, paidAdsWithheld
  case allotmentClosed, allotmentEnded, chargedToAllotment, chargedToOtherAllotment, drawnOnFreeBudget, waitedForBudget,
    paidAfterWaiting, unfunded, lateForBilling, inSuspense, heldBeyondCap, clickAheadOfImpressions,
    unpaidBeyondCap
}

/// How often each fault happened.
package struct Coverage: Sendable {
  package private(set) var counts: [Fault: Int] = [:]

  mutating func note(_ fault: Fault, _ times: Int = 1) { counts[fault, default: 0] += times }

  mutating func merge(_ other: Coverage) { counts.merge(other.counts, uniquingKeysWith: +) }

  /// Faults that never happened.
  package var absent: [Fault] { Fault.allCases.filter { counts[$0, default: 0] == 0 } }

  package var table: String {
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
package enum Sabotage: String, CaseIterable, Sendable {
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
  /// What an allotment has not used is returned twice.
  case returnTwice
  /// A grant is not held to the free budget.
  case grantUnbounded
  /// An ask that comes again is granted again.
  case grantTwice
  /// What no allotment can pay is charged although nothing is free.
  case chargeBeyondBudget
  /// What no budget can pay now is unfunded at once, although allotments may still return some.
  case neverWait
  /// The developer's share is rounded down.
  case roundShareDown
  /// What was sold from an allotment is not stored with the decision.
  case forgetUse
  /// Clicks of a client that wait are not told when it clicks again.
  case forgetEarlier
  /// A reader reads on where it was when a partition was opened again.
  case readOn
  /// A reader keeps what it collected of a partition that is opened again.
  case keepCollected
  /// A reader does not resume a partition that it paused.
  case neverResume
  /// A worker counts a batch that failed as finished, and works on.
  case workOn
  /// A worker has the next batches sent although the outbox is full.
  case neverWithhold
  /// A worker never tells of a batch that it finished while the outbox was full.
  case forgetWithheld
  /// A worker sends to a producer made anew, and nothing again of what the older one may have lost.
  case neverPublishAgain
  /// A worker gives a partition up and does not say so.
  case closeSilently
  /// A flush of counts is written wherever the partition's counts stand.
  case countTwice
  /// A flush of counts moves the partition on and writes nothing.
  case loseCounts
  /// A new owner does not count again what the one before it had not written.
  case neverCountAgain
  /// Ad selection takes the campaign that is worth most for one that is meant for nobody.
  case hideBest
  /// Ad selection knows of no targets.
  case ignoreTargets
  /// Ad selection knows of no app's exclusions.
  case ignoreExclusions
  /// Ad selection knows of no app's standing.
  case ignoreStanding
  /// Ad selection takes the most expensive campaign's prices for half of what they are.
  case undervalue
  /// Ad selection does not hear that the billing circuit breaker is open.
  case ignoreBreaker
  /// Ad selection takes a heartbeat that it reads late for one of now.
  case trustOldHeartbeat
  /// Retention removes rows that not everybody has consumed.
  case removeUnread
  /// The trackers open tokens of a key that was replaced for longer than its time.
  case keepOldKeys
  /// Nobody who opens a partition looks whether commits were lost.
  case ignoreLosses
  /// A partition stays open although the database went back.
  case stayOpen
  /// Lost commits are accepted, and sequences go on where the restored tables are.
  case acceptBelow
  /// What lost commits told is consumed: grants and events that no table knows.
  case consumeLost
  /// Events of ads whose decision was lost are charged before a person has decided.
  case chargeLost
  /// Counts are written of batches that a restored database does not have.
  case countLost
  /// A reader reads on after its broker came back, whatever became of the log.
  case readOverCut
  /// Ad selection gives every app's developer the share of the first.
  case confuseApps

  /// Whether the tables' constraints stand: without them only the auditor is left.
  var keepsConstraints: Bool {
    switch self {
    case .returnTwice, .grantUnbounded, .grantTwice, .chargeBeyondBudget: false
    default: true
    }
  }
}

/// The calls through which the pipeline reaches the world.
enum PortCall: Hashable {
  case acquire, writers, load, lookUp, commit, checkpoint, messages, outbox, gapRequests, probe, send, flush
}

/// What happens to one call.
enum CallFate {
  case fine
  case crashBefore
  case crashAfter
  case lostBefore
  case lostAfter
}
