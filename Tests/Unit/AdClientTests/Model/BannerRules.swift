import AdBasics

@testable import AdClient

/// The rules of a banner once more, as a table, knowing nothing of the state machine: what happens in which situation,
/// and what the app must see. Time moves by `timePasses` alone.
struct BannerSituation {
  enum Life { case inUse, away, ending, ended }
  enum Load {
    case none, asked
    case fetching(covers: Bool, wide: Bool, until: Int64)
  }
  enum Tap {
    case none
    case asking(covers: Bool)
    case opening(until: Int64)
    case covering
  }
  struct Ad {
    var covers: Bool
    /// It has the medium rectangle's image, else the two banners'.
    var wide: Bool
    var expiresAt: Int64
    var wasShown = false
  }

  var now: Int64 = 0
  var life = Life.inUse
  var load = Load.none
  var tap = Tap.none
  var ad: Ad?
  var isActive = true
  var isShown = false
  var isToldToHide = false
  /// The app requires the medium rectangle, else the two banners.
  var wantsWide = false
  var askAt: Int64 = 0
  var pause: Int64 = 30_000
  var warnAt: Int64?
  var told: [ModelTold] = []

  var isIdle: Bool { if case .none = tap { true } else { false } }
  var isActing: Bool {
    switch tap {
    case .opening, .covering: true
    case .none, .asking: false
    }
  }
  var isSeen: Bool {
    if case .covering = tap { return false }
    return isActive && isShown
  }
  var isAsked: Bool { if case .asked = load { true } else { false } }
  var fetching: (covers: Bool, wide: Bool)? {
    if case .fetching(let covers, let wide, _) = load { (covers, wide) } else { nil }
  }

  /// E, D2: an error empties the banner; the next request waits twice as long each time.
  mutating func fail(_ error: AdError) {
    load = .none
    askAt = max(askAt, now + pause)
    pause = min(pause * 2, 300_000)
    if ad != nil { told.append(.clears) }
    ad = nil
    isToldToHide = true
    told.append(.didFail(error))
    watchEmpty()
  }

  /// D4: a banner on screen without an ad is warned of after 10 s.
  mutating func watchEmpty() {
    let isWrong = ad == nil && isToldToHide && isActive && isShown && life == .inUse
    warnAt = isWrong ? warnAt ?? now + 10_000 : nil
  }

  mutating func visibilityChanged() {
    guard ad != nil else { return watchEmpty() }
    if isSeen, ad?.wasShown == false {
      ad?.wasShown = true
      askAt = max(askAt, now + 30_000)
    }
  }

  /// D8, D9: what covered is gone, and the app goes on.
  mutating func endAction() {
    if case .covering = tap { told.append(.uncovers) }
    tap = .none
    told.append(.didFinish)
    visibilityChanged()
    endIfIdle()
  }

  mutating func endIfIdle() {
    guard life == .ending, isIdle else { return }
    life = .ended
    load = .none
    ad = nil
    isToldToHide = false
    warnAt = nil
    told.append(.clears)
  }

  private enum Due { case cover, warning, images, expiry, ask }

  /// What is due, by its moment; of equal ones in this order.
  private var dues: [(at: Int64, what: Due)] {
    var dues: [(Int64, Due)] = []
    if case .opening(let until) = tap { dues.append((until, .cover)) }
    if let warnAt { dues.append((warnAt, .warning)) }
    if case .fetching(_, _, let until) = load { dues.append((until, .images)) }
    if let ad, !isSeen, isIdle { dues.append((ad.expiresAt, .expiry)) }
    if life == .inUse, isActive, case .none = load, isIdle, ad == nil || isShown { dues.append((askAt, .ask)) }
    return dues
  }

  var nextDue: Int64? { dues.map(\.at).min() }

  /// Whatever is due has happened.
  mutating func settle() {
    while let first = dues.filter({ $0.at <= now }).min(by: { $0.at < $1.at }) {
      switch first.what {
      case .cover:
        tap = .none
        told.append(.didFinish)
        fail(.adAssetLoadPending)
        endIfIdle()
      case .warning:
        told.append(.didFail(.bannerVisibleWithoutContent))
        warnAt = now + 10_000
      case .images: fail(.assetLoadFailure)
      case .expiry: fail(.adUnloaded)
      case .ask:
        load = .asked
        askAt = now + 30_000
        told.append(.request)
      }
    }
  }
}

enum BannerRules {
  typealias Rule = ModelRule<BannerSituation>

  static let lifeMilliseconds: Int64 = 600_000

  /// What must be seen after this; nothing where no rule is met.
  static func step(_ situation: inout BannerSituation, _ happening: ModelHappening) -> [ModelTold] {
    situation.told = []
    situation.settle()
    // In the background nothing is asked; what else is due there comes with the next happening.
    rules.first { $0.when(situation, happening) }?.then(&situation)
    if happening != .background { situation.settle() }
    return situation.told
  }

  static let rules: [Rule] = loading + showing + acting + living

  private static let loading: [Rule] = [
    Rule(
      "D1: an ad is on its way", when: { $1 == .answeredCovering && $0.isAsked },
      then: {
        $0.load = .fetching(covers: true, wide: $0.wantsWide, until: $0.now + 60_000)
        $0.told.append(.willLoad)
      }),
    Rule(
      "D1: an ad is on its way", when: { $1 == .answeredLeaving && $0.isAsked },
      then: {
        $0.load = .fetching(covers: false, wide: $0.wantsWide, until: $0.now + 60_000)
        $0.told.append(.willLoad)
      }),
    Rule("E3: there is none", when: { $1 == .answeredError && $0.isAsked }, then: { $0.fail(.inventoryUnavailable) }),
    Rule("E1: nobody answers", when: { $1 == .noAnswer && $0.isAsked }, then: { $0.fail(.serverFailure) }),
    Rule(
      "D1: the ad is here", when: { $1 == .imagesCame && $0.fetching != nil },
      then: { situation in
        guard let fetched = situation.fetching else { return }
        situation.load = .none
        situation.pause = 30_000
        situation.warnAt = nil
        situation.ad = BannerSituation.Ad(
          covers: fetched.covers, wide: fetched.wide, expiresAt: situation.now + lifeMilliseconds)
        situation.told += [.shows, .didLoad]
        situation.visibilityChanged()
      }),
    Rule(
      "E8: its images are not", when: { $1 == .imagesFailed && $0.fetching != nil },
      then: { $0.fail(.assetLoadFailure) }),
  ]

  private static let showing: [Rule] = [
    Rule(
      "on screen", when: { $1 == .shown && ($0.life == .inUse || $0.life == .ending) },
      then: {
        $0.isShown = true
        $0.visibilityChanged()
      }),
    Rule(
      "off screen", when: { $1 == .hidden && ($0.life == .inUse || $0.life == .ending) },
      then: {
        $0.isShown = false
        $0.visibilityChanged()
      }),
    Rule(
      "S4: turning shows the other image", when: { $1 == .turned && $0.life != .ended && !$0.wantsWide },
      then: {
        guard let ad = $0.ad else { return }
        if !ad.wide { $0.told.append(.shows) } else if $0.isIdle { $0.fail(.adUnloaded) }
      }),
    Rule(
      "S4, E7: an ad without the sizes is given up", when: { $1 == .requiredOthers && $0.life != .ended },
      then: {
        $0.wantsWide.toggle()
        $0.load = .none
        guard let ad = $0.ad else { return }
        if ad.wide == $0.wantsWide { $0.told.append(.shows) } else if $0.isIdle { $0.fail(.adUnloaded) }
      }),
  ]

  private static let acting: [Rule] = [
    Rule(
      "D7: a tap asks", when: { $1 == .tapped && $0.life == .inUse && $0.isSeen && $0.ad != nil && $0.isIdle },
      then: {
        $0.tap = .asking(covers: $0.ad?.covers ?? true)
        $0.told.append(.asks)
      }),
    Rule(
      "D7: yes",
      when: { situation, happening in
        if case .asking = situation.tap { happening == .appSaysYes } else { false }
      },
      then: {
        guard case .asking(let covers) = $0.tap else { return }
        $0.tap = covers ? .opening(until: $0.now + 10_000) : .none
        $0.told.append(covers ? .fetchesCover : .leaves)
        $0.visibilityChanged()
        $0.endIfIdle()
      }),
    Rule(
      "D7: no",
      when: { situation, happening in
        if case .asking = situation.tap { happening == .appSaysNo } else { false }
      },
      then: {
        $0.tap = .none
        $0.visibilityChanged()
        $0.endIfIdle()
      }),
    Rule(
      "D11: it covers",
      when: { situation, happening in
        if case .opening = situation.tap { happening == .coverCame } else { false }
      },
      then: {
        $0.tap = .covering
        $0.told.append(.covers)
        $0.visibilityChanged()
      }),
    Rule(
      "D11, E8: it does not come",
      when: { situation, happening in
        if case .opening = situation.tap { happening == .coverFailed } else { false }
      },
      then: {
        $0.tap = .none
        $0.told.append(.didFinish)
        $0.fail(.assetLoadFailure)
        $0.visibilityChanged()
        $0.endIfIdle()
      }),
    Rule(
      "D8, D9: an action ends",
      when: {
        [.finished, .leftApplication, .cancelled].contains($1) && $0.isActing
      }, then: { $0.endAction() }),
  ]

  private static let living: [Rule] = [
    Rule(
      "D8, E6: the background", when: { situation, happening in happening == .background },
      then: {
        if $0.isActing { $0.endAction() }
        // What became due by that comes before the application is gone.
        guard $0.isActive, $0.life != .ended else { return }
        $0.isActive = false
        $0.visibilityChanged()
        if case .none = $0.load {} else { $0.fail(.applicationInactive) }
      }),
    Rule(
      "the foreground", when: { situation, happening in happening == .foreground },
      then: {
        $0.isActive = true
        $0.visibilityChanged()
      }),
    Rule(
      "D3: away", when: { $1 == .away && ($0.life == .inUse || $0.life == .ending) },
      then: {
        $0.isShown = false
        $0.visibilityChanged()
        if $0.life == .inUse { $0.life = .away }
      }),
    Rule("D3: back", when: { $1 == .back && $0.life == .away }, then: { $0.life = .inUse }),
    Rule(
      "T4, D10: low memory", when: { $1 == .memoryWarning && $0.life != .ended },
      then: {
        if $0.fetching != nil { $0.load = .none }
        if $0.ad != nil, !$0.isSeen, $0.isIdle { $0.fail(.adUnloaded) }
      }),
    Rule(
      "D10: the app is done", when: { $1 == .stopped && $0.life != .ended },
      then: {
        $0.life = .ending
        $0.endIfIdle()
      }),
  ]
}
