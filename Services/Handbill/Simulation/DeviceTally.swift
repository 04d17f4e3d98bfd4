internal import AdClient
internal import AdCore
internal import Synchronization

/// What the devices know to have happened: each number counts things that the broker has acknowledged, once however
/// often they were sent. `handbill reconcile` compares it with the tables.
struct DeviceTally: Hashable, Sendable {
  /// Things of live ads, or of test ads (A2).
  struct Kinds: Hashable, Sendable {
    var live = 0
    var test = 0

    mutating func add(isTest: Bool) {
      if isTest { test += 1 } else { live += 1 }
    }
  }

  /// Milliseconds since 1970. Every id of the run was made at this moment or later.
  var startedAtMilliseconds: Int64 = 0
  var endedAtMilliseconds: Int64 = 0
  /// Requests, those of builds and apps included that get no ad.
  var requests = 0
  /// Answers with an ad, as they came.
  var adsReceived = Kinds()
  /// Answers with an error, by its code in rules E.
  var errorsReceived: [String: Int] = [:]
  /// Requests that were not answered in time.
  var unanswered = 0
  /// Views that count (M1), each of another ad.
  var impressions = Kinds()
  /// Taps that earn (M7).
  var clicks = Kinds()
  /// Taps whose action was over within 2 s without leaving (M7).
  var accidentalClicks = Kinds()
  /// Events that were sent again: they must count nowhere.
  var repeatedEvents = 0
  /// Events with an altered token: they must be rejected (I1).
  var forgedEvents = 0
  /// Pieces of garbage: they must be rejected.
  var garbage = 0
}

/// The tally while it grows; used by every thread.
final class TallyCounter: Sendable {
  private let tally: Mutex<DeviceTally>
  private static let accidentalMilliseconds = Windows().accidentalActionMilliseconds

  init(startedAt: Timestamp) {
    var tally = DeviceTally()
    tally.startedAtMilliseconds = startedAt.milliseconds
    self.tally = Mutex(tally)
  }

  var current: DeviceTally { tally.withLock { $0 } }

  func change(_ change: (inout DeviceTally) -> Void) { tally.withLock { change(&$0) } }

  /// Something that the broker has.
  func add(_ fact: AcknowledgedFact) {
    change { tally in
      switch fact {
      case .request: tally.requests += 1
      case .impression(_, _, let isTest, _): tally.impressions.add(isTest: isTest)
      case .click(_, _, let isTest, _, let lasted, let left):
        if left || lasted >= Self.accidentalMilliseconds {
          tally.clicks.add(isTest: isTest)
        } else {
          tally.accidentalClicks.add(isTest: isTest)
        }
      case .other: break
      }
    }
  }

  func add(_ result: RequestResult) {
    change { tally in
      switch result {
      case .ad(let ad): tally.adsReceived.add(isTest: ad.isTest)
      case .error(let error, _): tally.errorsReceived["\(error.rawValue)", default: 0] += 1
      case .invalid: tally.errorsReceived["9", default: 0] += 1
      case .noAnswer, .unavailable: tally.unanswered += 1
      }
    }
  }
}
