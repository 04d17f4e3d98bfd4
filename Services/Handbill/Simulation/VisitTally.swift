internal import AdClient
internal import AdCore
internal import Synchronization

/// What one client knows of its own ads: each fact that the network has, and what must become of it by the rules of
/// docs/invalid-traffic.md. What it adds up to goes to the fleet's tally as it changes.
final class VisitTally: Sendable {
  private let fleet: TallyCounter
  private let serves = Mutex<[ServeID: ServeTally]>([:])

  init(_ fleet: TallyCounter) { self.fleet = fleet }

  /// Takes a fact; they come in any order.
  func add(_ fact: AcknowledgedFact) {
    switch fact {
    case .request: fleet.change { $0.requests += 1 }
    case .failed: fleet.change { $0.failuresWithoutAd += 1 }
    case .converted: fleet.change { $0.conversions += 1 }
    case .told(let happening, let serve, _, let isTest, let age):
      let (before, after) = serves.withLock { serves in
        var tally = serves[serve] ?? ServeTally()
        let before = tally.sums
        tally.add(happening, age: age)
        serves[serve] = tally
        return (before, tally.sums)
      }
      fleet.change { tally in
        tally.subtract(before, isTest: isTest)
        tally.add(after, isTest: isTest)
      }
    }
  }
}

/// What is known of one served ad.
struct ServeTally: Sendable {
  private struct Tap {
    var age: Int64
    var isAccidental: Bool
  }

  /// What it adds to a tally.
  struct Sums: Hashable, Sendable {
    var impressions = 0
    /// Of those that are meant and in time one earns (M4).
    var clicks = 0
    var accidentalClicks = 0
    /// Repetitions, and what came too soon or too late.
    var freeClicks = 0
    var stoppedActions = 0
    var rendered = 0
    var unloaded = 0
    var failed = 0
    var neverShown = 0
    var expiredUnseen = 0
    var shownBriefly = 0
  }

  private var viewedAge: Int64?
  private var taps: [Tap] = []
  private var stopped = 0
  private var wasRendered = false
  private var wasUnloaded = false
  private var hasFailed = false
  /// Of those that tell of ads nobody saw, or not for long.
  private var others: Set<AdHappening> = []
  private static let windows = Windows()
  /// So many taps of a kind are judged of one ad (M4).
  private static let judgedMaximum = 4

  mutating func add(_ happening: AdHappening, age: Int64) {
    switch happening {
    case .rendered: wasRendered = true
    case .viewed: viewedAge = min(viewedAge ?? age, age)
    case .unloaded: wasUnloaded = true
    case .failed: hasFailed = true
    case .neverShown, .expiredUnseen, .shownBriefly: others.insert(happening)
    case .click(let lasted, let left):
      let isAccidental = Self.windows.isAccidental(actionMilliseconds: lasted, leftApplication: left)
      taps.append(Tap(age: age, isAccidental: isAccidental))
    case .blocked, .cancelled: stopped += 1
    }
  }

  /// The client taps in one visit alone: none of its taps meets a limit, and of those that are meant one earns.
  var sums: Sums {
    var sums = Sums(
      impressions: viewedAge == nil ? 0 : 1, stoppedActions: stopped, rendered: wasRendered ? 1 : 0,
      unloaded: wasUnloaded ? 1 : 0, failed: hasFailed ? 1 : 0, neverShown: others.contains(.neverShown) ? 1 : 0,
      expiredUnseen: others.contains(.expiredUnseen) ? 1 : 0, shownBriefly: others.contains(.shownBriefly) ? 1 : 0)
    // Without its view a tap waits.
    guard let viewedAge else { return sums }
    let possible = taps.filter { $0.age - viewedAge >= -Self.windows.viewMilliseconds }
    sums.accidentalClicks = min(possible.count { $0.isAccidental }, Self.judgedMaximum)
    let isMeant = possible.contains {
      !$0.isAccidental && Self.windows.tapDelayMilliseconds.contains($0.age - viewedAge)
    }
    sums.clicks = isMeant ? 1 : 0
    sums.freeClicks = taps.count - sums.accidentalClicks - sums.clicks
    return sums
  }
}
