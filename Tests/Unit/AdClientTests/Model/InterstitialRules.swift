import AdBasics

@testable import AdClient

/// The rules of a full-screen ad once more, as a table, knowing nothing of the state machine.
struct InterstitialSituation {
  enum Stage: Hashable { case made, asked, fetching, loaded, modal, page, gone }
  enum Tap {
    case none, asking
    case opening(until: Int64)
    case covering
  }

  var now: Int64 = 0
  var stage = Stage.made
  var covers = true
  var tap = Tap.none
  var isActive = true
  var isShown = false
  var imagesUntil: Int64 = 0
  var expiresAt: Int64 = 0
  var isStopping = false
  var told: [ModelTold] = []

  var hasAd: Bool { [.loaded, .modal, .page].contains(stage) }
  var isIdle: Bool { if case .none = tap { true } else { false } }
  var isActing: Bool {
    switch tap {
    case .opening, .covering: true
    case .none, .asking: false
    }
  }
  var isCovering: Bool { if case .covering = tap { true } else { false } }
  var isSeen: Bool { isActive && isShown && !isCovering }

  /// D5: an error comes first, then the end of what was loaded.
  mutating func fail(_ error: AdError) {
    told.append(.didFail(error))
    unload()
    stage = .gone
  }

  /// D5, D10: an action ends before the ad does.
  mutating func unload() {
    guard hasAd else { return }
    if isActing { finishAction() }
    tap = .none
    if stage != .loaded { told.append(.removes) }
    told.append(.didUnload)
    stage = .gone
    isShown = false
  }

  mutating func finishAction(isCancelled: Bool = false) {
    if case .covering = tap { told.append(.uncovers) }
    tap = .none
    if !isCancelled { told.append(.didFinish) }
  }

  mutating func stopIfIdle() {
    guard isStopping, isIdle else { return }
    unload()
    stage = .gone
  }

  private enum Due { case cover, images, expiry }

  private var dues: [(at: Int64, what: Due)] {
    var dues: [(Int64, Due)] = []
    if case .opening(let until) = tap { dues.append((until, .cover)) }
    if stage == .fetching { dues.append((imagesUntil, .images)) }
    // A modal ad has no end but the user's; a page's comes when nobody sees it and it does not act.
    if stage == .loaded || stage == .page && !isSeen && isIdle { dues.append((expiresAt, .expiry)) }
    return dues
  }

  var nextDue: Int64? { dues.map(\.at).min() }

  mutating func settle() {
    while let first = dues.filter({ $0.at <= now }).min(by: { $0.at < $1.at }) {
      switch first.what {
      case .cover:
        tap = .none
        told.append(.didFinish)
        fail(.adAssetLoadPending)
        stopIfIdle()
      case .images: fail(.assetLoadFailure)
      case .expiry: unload()
      }
    }
  }
}

enum InterstitialRules {
  typealias Rule = ModelRule<InterstitialSituation>

  static let lifeMilliseconds: Int64 = 300_000

  static func step(_ situation: inout InterstitialSituation, _ happening: ModelHappening) -> [ModelTold] {
    situation.told = []
    situation.settle()
    rules.first { $0.when(situation, happening) }?.then(&situation)
    situation.settle()
    return situation.told
  }

  static let rules: [Rule] = loading + presenting + acting + living

  private static let loading: [Rule] = [
    Rule(
      "D5: it loads once", when: { $1 == .started && $0.stage == .made && $0.isActive },
      then: {
        $0.stage = .asked
        $0.told.append(.request)
      }),
    Rule(
      "E6: not while the app is away", when: { $1 == .started && $0.stage == .made },
      then: {
        $0.fail(.applicationInactive)
      }),
    Rule(
      "D1", when: { $1 == .answeredCovering && $0.stage == .asked },
      then: {
        $0.stage = .fetching
        $0.imagesUntil = $0.now + 60_000
        $0.covers = true
        $0.told.append(.willLoad)
      }),
    Rule(
      "D1", when: { $1 == .answeredLeaving && $0.stage == .asked },
      then: {
        $0.stage = .fetching
        $0.imagesUntil = $0.now + 60_000
        $0.covers = false
        $0.told.append(.willLoad)
      }),
    Rule("E3", when: { $1 == .answeredError && $0.stage == .asked }, then: { $0.fail(.inventoryUnavailable) }),
    Rule("E1", when: { $1 == .noAnswer && $0.stage == .asked }, then: { $0.fail(.serverFailure) }),
    Rule(
      "D1", when: { $1 == .imagesCame && $0.stage == .fetching },
      then: {
        $0.stage = .loaded
        $0.expiresAt = $0.now + lifeMilliseconds
        $0.told.append(.didLoad)
      }),
    Rule("E8", when: { $1 == .imagesFailed && $0.stage == .fetching }, then: { $0.fail(.assetLoadFailure) }),
  ]

  private static let presentations: Set<ModelHappening> = [
    .presentedModally, .presentedWithinDidLoad, .presentedAsPage, .presentedTooSmall,
  ]

  private static let presenting: [Rule] = [
    Rule(
      "D6: not before it is loaded", when: { presentations.contains($1) && !$0.hasAd },
      then: {
        $0.told.append(.refused(.notLoaded))
      }),
    Rule(
      "a modal ad is not presented again", when: { presentations.contains($1) && $0.stage == .modal },
      then: {
        $0.told.append(.refused(.alreadyPresented))
      }),
    Rule(
      "a page does not become modal",
      when: {
        ($1 == .presentedModally || $1 == .presentedWithinDidLoad) && $0.stage == .page
      }, then: { $0.told.append(.refused(.alreadyPresented)) }),
    Rule(
      "D6: not from within didLoad", when: { situation, happening in happening == .presentedWithinDidLoad },
      then: {
        $0.told.append(.refused(.withinDidLoad))
      }),
    Rule(
      "D5: modal", when: { situation, happening in happening == .presentedModally },
      then: {
        $0.stage = .modal
        $0.isShown = true
        $0.told.append(.modal)
      }),
    Rule(
      "S6: as a page, and again when it turned", when: { situation, happening in happening == .presentedAsPage },
      then: {
        $0.stage = .page
        $0.told.append(.page)
      }),
    Rule(
      "S6: of no other size", when: { situation, happening in happening == .presentedTooSmall },
      then: {
        $0.told.append(.refused(.invalidPageSize))
      }),
    Rule("T14: on screen", when: { $1 == .shown && $0.stage == .page }, then: { $0.isShown = true }),
    Rule("T14: off screen", when: { $1 == .hidden && $0.stage == .page }, then: { $0.isShown = false }),
    Rule(
      "D5: the user closes it", when: { $1 == .closed && $0.stage == .modal && !$0.isCovering }, then: { $0.unload() }),
    Rule("D5: it cannot be drawn", when: { $1 == .drawingFailed && $0.hasAd }, then: { $0.fail(.assetLoadFailure) }),
  ]

  private static let acting: [Rule] = [
    Rule(
      "D7: a tap asks", when: { $1 == .tapped && $0.isSeen && $0.hasAd && $0.isIdle && !$0.isStopping },
      then: {
        $0.tap = .asking
        $0.told.append(.asks)
      }),
    Rule(
      "D7: yes",
      when: { situation, happening in
        if case .asking = situation.tap { happening == .appSaysYes } else { false }
      },
      then: {
        $0.tap = $0.covers ? .opening(until: $0.now + 10_000) : .none
        $0.told.append($0.covers ? .fetchesCover : .leaves)
        $0.stopIfIdle()
      }),
    Rule(
      "D7: no",
      when: { situation, happening in
        if case .asking = situation.tap { happening == .appSaysNo } else { false }
      },
      then: {
        $0.tap = .none
        $0.stopIfIdle()
      }),
    Rule(
      "D11: it covers",
      when: { situation, happening in
        if case .opening = situation.tap { happening == .coverCame } else { false }
      },
      then: {
        $0.tap = .covering
        $0.told.append(.covers)
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
        $0.stopIfIdle()
      }),
    Rule(
      "D8: an action ends", when: { ($1 == .finished || $1 == .leftApplication) && $0.isActing },
      then: {
        $0.finishAction()
        $0.stopIfIdle()
      }),
    Rule(
      "D9: a cancelled one without a word", when: { $1 == .cancelled && $0.isActing },
      then: {
        $0.finishAction(isCancelled: true)
        $0.stopIfIdle()
      }),
  ]

  private static let living: [Rule] = [
    Rule(
      "D8, E6: the background", when: { situation, happening in happening == .background },
      then: {
        if $0.isActing {
          $0.finishAction()
          $0.stopIfIdle()
          $0.settle()
        }
        $0.isActive = false
        if $0.stage == .asked || $0.stage == .fetching { $0.fail(.applicationInactive) }
      }),
    Rule("the foreground", when: { situation, happening in happening == .foreground }, then: { $0.isActive = true }),
    Rule(
      "T10: what is under way is given up", when: { $1 == .memoryWarning && $0.stage == .fetching },
      then: {
        $0.fail(.adUnloaded)
      }),
    Rule(
      "T10, D10: what nobody sees and does not act goes",
      when: {
        $1 == .memoryWarning && ($0.stage == .loaded || $0.stage == .page && !$0.isSeen && $0.isIdle)
      }, then: { $0.unload() }),
    Rule(
      "D10: the app is done", when: { situation, happening in happening == .stopped },
      then: {
        $0.isStopping = true
        $0.stopIfIdle()
      }),
  ]
}
