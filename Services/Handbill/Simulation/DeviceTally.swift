internal import AdCore
internal import Synchronization

/// What the devices know to have happened: each number counts things that the broker has acknowledged, once however
/// often they were sent. `handbill reconcile` compares it with the tables.
struct DeviceTally: Hashable, Sendable {
  /// Things of live ads, or of test ads (A2).
  struct Kinds: Hashable, Sendable {
    var live = 0
    var test = 0

    mutating func add(_ count: Int = 1, isTest: Bool) {
      if isTest { test += count } else { live += count }
    }
  }

  /// Milliseconds since 1970. Every id of the run was made at this moment or later.
  var startedAtMilliseconds: Int64 = 0
  var endedAtMilliseconds: Int64 = 0
  /// Requests, those of builds and apps included that get no ad.
  var requests = 0
  /// Ads that were loaded, as apps were told.
  var adsReceived = Kinds()
  /// Errors that apps were told, by their codes in rules E.
  var errorsReceived: [String: Int] = [:]
  /// Views that count (M1), each of another ad.
  var impressions = Kinds()
  /// Taps that earn (M7).
  var clicks = Kinds()
  /// Taps whose action was over within 2 s without leaving (M7).
  var accidentalClicks = Kinds()
  /// Taps on ads that were seen, and which earn nothing for another reason (M4, M5).
  var freeClicks = Kinds()
  /// Actions that the app refused or cancelled (D7, D9).
  var stoppedActions = Kinds()
  /// Ads that were drawn, that were unloaded, that failed: each once.
  var rendered = Kinds()
  var unloaded = Kinds()
  var failed = Kinds()
  /// Ads that were never on screen, that expired before, that the app hid too soon (D3, D5, D12).
  var neverShown = Kinds()
  var expiredUnseen = Kinds()
  var shownBriefly = Kinds()
  /// Installs that advertised apps told, each of another ad (M8).
  var conversions = 0
  /// Errors without an ad (M6).
  var failuresWithoutAd = 0
  /// Events that were sent again: they must count nowhere.
  var repeatedEvents = 0
  /// Events with an altered token: they must be rejected (I1).
  var forgedEvents = 0
  /// Pieces of garbage: they must be rejected.
  var garbage = 0
}

extension DeviceTally {
  mutating func add(_ sums: ServeTally.Sums, isTest: Bool) { change(by: sums, 1, isTest) }
  mutating func subtract(_ sums: ServeTally.Sums, isTest: Bool) { change(by: sums, -1, isTest) }

  private mutating func change(by sums: ServeTally.Sums, _ sign: Int, _ isTest: Bool) {
    impressions.add(sign * sums.impressions, isTest: isTest)
    clicks.add(sign * sums.clicks, isTest: isTest)
    accidentalClicks.add(sign * sums.accidentalClicks, isTest: isTest)
    freeClicks.add(sign * sums.freeClicks, isTest: isTest)
    stoppedActions.add(sign * sums.stoppedActions, isTest: isTest)
    rendered.add(sign * sums.rendered, isTest: isTest)
    unloaded.add(sign * sums.unloaded, isTest: isTest)
    failed.add(sign * sums.failed, isTest: isTest)
    neverShown.add(sign * sums.neverShown, isTest: isTest)
    expiredUnseen.add(sign * sums.expiredUnseen, isTest: isTest)
    shownBriefly.add(sign * sums.shownBriefly, isTest: isTest)
  }
}

/// The tally while it grows; used by every thread.
final class TallyCounter: Sendable {
  private let tally: Mutex<DeviceTally>

  init(startedAt: Timestamp) {
    var tally = DeviceTally()
    tally.startedAtMilliseconds = startedAt.milliseconds
    self.tally = Mutex(tally)
  }

  var current: DeviceTally { tally.withLock { $0 } }

  func change(_ change: (inout DeviceTally) -> Void) { tally.withLock { change(&$0) } }
}
