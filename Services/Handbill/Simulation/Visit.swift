internal import AdClient
internal import AdCore

/// Where all simulated devices live, as an app's objects live on its main actor (D13).
@globalActor
actor DeviceActor {
  static let shared = DeviceActor()
}

/// One visit of a user to an app: a client of the SDK with one banner or full-screen ad, which is used through its public
/// interface as an app uses it.
@DeviceActor
final class Visit {
  /// What a visit needs of its fleet.
  struct Surroundings: Sendable {
    let agenda: Agenda
    let tally: TallyCounter
    /// The user goes by a store link.
    let wentToStore: @DeviceActor @Sendable (_ destination: String) -> Void
    /// The visit is over.
    let ended: @DeviceActor @Sendable (Visit) -> Void
  }

  let number: Int
  private let plan: VisitPlan
  private let client: AdNetworkClient
  private let ad: VisitedAd
  private let surroundings: Surroundings
  private var tapsLeft: ArraySlice<VisitPlan.Tap>
  private var tap: VisitPlan.Tap?
  private var hasLooked = false
  /// The first ad that was seen: it alone is tapped, see `nextTap`.
  private var seenServe: ServeID?
  private var wentToStore = false
  private var isOver = false

  private static let looksAfterMilliseconds: Int64 = 60
  private static let backgroundMilliseconds: Int64 = 1_000
  private static let reactionMilliseconds: Int64 = 200
  /// Nobody stays longer, whatever happens.
  private static let longestMilliseconds: Int64 = 120_000

  init(
    number: Int, _ visitor: DevicePopulation.Visitor, plan: VisitPlan, client: AdNetworkClient,
    in surroundings: Surroundings
  ) throws(AdObjectError) {
    self.number = number
    self.plan = plan
    self.client = client
    self.surroundings = surroundings
    tapsLeft = plan.taps[...]
    ad = try VisitedAd(visitor.wish, client: client, imagesCome: plan.imagesCome, coverComes: plan.coverComes)
    ad.listen(
      heard: { [weak self] in self?.heard($0) }, shouldBegin: { [weak self] in self?.tap?.isAllowed ?? true })
    later(Self.longestMilliseconds) { $0.leave() }
    if plan.interruption == .impatience { later(1) { $0.ad.enteredBackground() } }
  }

  /// The user puts the device away: what was begun is broken off.
  func leave() {
    guard !isOver else { return }
    isOver = true
    if ad.isActionInProgress { ad.actionFinished() }
    ad.stop()
    client.flush()
    surroundings.ended(self)
  }

  private func heard(_ happening: VisitedAd.Happening) {
    guard !isOver else { return }
    switch happening {
    case .loaded:
      if let loaded = ad.loadedAd { surroundings.tally.change { $0.adsReceived.add(isTest: loaded.isTest) } }
      guard !hasLooked else { return }
      hasLooked = true
      later(Self.looksAfterMilliseconds) { $0.look() }
    case .failed(let failure):
      surroundings.tally.change { $0.errorsReceived["\(failure.code.rawValue)", default: 0] += 1 }
      later(Self.reactionMilliseconds) { $0.leave() }
    case .seen:
      guard seenServe == nil, let loaded = ad.loadedAd else { return }
      seenServe = loaded.serveID
      if plan.turns { later(Self.reactionMilliseconds) { $0.ad.turn() } }
      nextTap()
    case .covered:
      guard let tap else { return }
      later(tap.actionMilliseconds) { $0.end(tap) }
    case .leftApplication:
      if let loaded = ad.loadedAd, loaded.action.kind == .leave, !wentToStore {
        wentToStore = true
        surroundings.wentToStore(loaded.action.destination)
      }
      later(Self.reactionMilliseconds) { $0.awayForAWhile() }
    case .other: break
    }
  }

  private func look() {
    switch plan.look {
    case .seen: ad.show()
    case .glance:
      ad.show()
      return later(Self.reactionMilliseconds) { visit in
        visit.ad.hide()
        visit.leave()
      }
    case .hidden:
      ad.showTooLittle()
      return later(plan.staysMilliseconds) { $0.leave() }
    }
    switch plan.interruption {
    case .none, .impatience: break
    case .memoryWarning: later(Self.reactionMilliseconds) { $0.ad.memoryWarning() }
    case .background: later(Self.reactionMilliseconds) { $0.awayForAWhile() }
    case .away:
      later(Self.reactionMilliseconds) { visit in
        visit.ad.putAway()
        visit.later(Self.reactionMilliseconds) { $0.ad.putBack() }
      }
    }
  }

  private func awayForAWhile() {
    ad.enteredBackground()
    later(Self.backgroundMilliseconds) { $0.ad.enteredForeground() }
  }

  /// Taps the ad that was seen again, until it is gone. One that took its place meanwhile is not tapped: the client may
  /// have earned less than a minute ago, and which of further taps are beyond its limit and which are repetitions is not
  /// the devices' to know.
  private func nextTap() {
    tap = tapsLeft.popFirst()
    guard let tap else { return later(plan.staysMilliseconds) { $0.leave() } }
    later(tap.afterMilliseconds) { visit in
      guard visit.ad.loadedAd?.serveID == visit.seenServe else {
        return visit.later(visit.plan.staysMilliseconds) { $0.leave() }
      }
      visit.ad.tap()
      // One that covers goes on when it has covered.
      if !visit.ad.isActionInProgress { visit.nextTap() }
    }
  }

  private func end(_ tap: VisitPlan.Tap) {
    switch tap.end {
    case .finished: ad.actionFinished()
    case .cancelled: ad.cancelAction()
    case .leftApplication:
      ad.actionLeftApplication()
      awayForAWhile()
    case .background: awayForAWhile()
    }
    nextTap()
  }

  /// Does something after a while, if the visit is not over then.
  private func later(_ milliseconds: Int64, _ step: @escaping @DeviceActor @Sendable (Visit) -> Void) {
    surroundings.agenda.add(at: DeviceClock.monotonic.advanced(byMilliseconds: milliseconds)) { [weak self] in
      Task { @DeviceActor in
        guard let self, !self.isOver else { return }
        step(self)
      }
    }
  }
}
