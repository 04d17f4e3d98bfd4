internal import AdCore

/// What a user will do in one visit of an app: drawn at once, done step by step by a ``Visit``.
struct VisitPlan: Sendable {
  /// How the ad comes on screen.
  enum Look: Hashable, Sendable {
    /// It stays long enough to be seen (M1).
    case seen
    /// It is gone before that.
    case glance
    /// Too little of a banner is on screen; a full-screen ad is not presented.
    case hidden
  }

  /// How an action ends that covers the app.
  enum ActionEnd: Hashable, Sendable {
    case finished
    /// The user goes on into another application (D8).
    case leftApplication
    /// The app cancels it (D9).
    case cancelled
    /// The app goes to the background (D8).
    case background
  }

  struct Tap: Hashable, Sendable {
    /// After the ad was seen, or the tap before was over.
    var afterMilliseconds: Int64
    /// What the app says (D7).
    var isAllowed = true
    /// How long its action covers the app.
    var actionMilliseconds: Int64
    var end = ActionEnd.finished
  }

  /// What comes between.
  enum Interruption: Hashable, Sendable {
    case none
    /// The app is in the background for a while.
    case background
    /// The app leaves before there is an answer (E6).
    case impatience
    case memoryWarning
    /// The banner's screen is left and comes back (T7).
    case away
  }

  var look = Look.seen
  /// Whether the ad's images can be had; without them it fails (E8).
  var imagesCome = true
  /// Whether what covers the app can be had (D11).
  var coverComes = true
  /// Whether the interface turns once the ad was seen (T1, T8).
  var turns = false
  var interruption = Interruption.none
  var taps: [Tap] = []
  /// How long the user stays after everything.
  var staysMilliseconds: Int64 = 500

  /// Draws one.
  ///
  /// - Parameter mayTap: The network lets a client earn once a minute, so each taps in one visit alone: then every tap that
  ///   is meant counts, or is a repetition, and the devices know which.
  static func drawn(_ settings: SimulationSettings, mayTap: () -> Bool, _ chance: inout SeededChance) -> VisitPlan {
    var plan = VisitPlan()
    if !chance.chance(settings.viewBasisPoints) { plan.look = chance.chance(5_000) ? .glance : .hidden }
    plan.imagesCome = !chance.chance(100)
    plan.coverComes = !chance.chance(500)
    plan.turns = chance.chance(1_000)
    plan.interruption = chance.choose([
      (.none, 94), (.background, 2), (.impatience, 1), (.memoryWarning, 1), (.away, 2),
    ])
    plan.staysMilliseconds = chance.milliseconds(500...8_000)
    // Long enough for the next ad (D2).
    if chance.chance(100) { plan.staysMilliseconds = 34_000 }
    if plan.look == .seen, chance.chance(settings.clickBasisPoints), mayTap() { plan.taps = taps(&chance) }
    return plan
  }

  private enum Habit {
    case meant
    case accident
    case blocked
    case cancelled
    case leaves
    case background
    /// So soon after the view that it earns nothing.
    case hasty
    /// The same ad again.
    case again
  }

  private static func taps(_ chance: inout SeededChance) -> [Tap] {
    let habit = chance.choose([
      (Habit.meant, 62), (.accident, 10), (.blocked, 6), (.cancelled, 6), (.leaves, 4), (.background, 3), (.hasty, 3),
      (.again, 6),
    ])
    let meant = Tap(
      afterMilliseconds: chance.milliseconds(150...3_000), actionMilliseconds: chance.milliseconds(2_100...9_000))
    var tap = meant
    switch habit {
    case .meant: return [meant]
    case .accident:
      tap.actionMilliseconds = chance.milliseconds(200...1_900)
      return chance.chance(5_000) ? [tap] : [tap, meant]
    case .blocked:
      tap.isAllowed = false
      return chance.chance(5_000) ? [tap] : [tap, meant]
    case .cancelled:
      tap.actionMilliseconds = chance.milliseconds(200...5_000)
      tap.end = .cancelled
    case .leaves:
      tap.actionMilliseconds = chance.milliseconds(300...3_000)
      tap.end = .leftApplication
    case .background: tap.end = .background
    case .hasty: tap.afterMilliseconds = chance.milliseconds(0...60)
    case .again:
      // Beyond the first four of its kind, too (M4).
      return Array(repeating: meant, count: 1 + Int(chance.milliseconds(1...5)))
    }
    return [tap]
  }
}
