import AdBasics
import Testing

@testable import AdClient

@Suite("Banner: the state machine against the table of rules")
struct BannerModelTests {
  /// One walk: both descriptions see the same, step by step.
  private struct Walk {
    var machine = BannerStateMachine(sizes: narrow(.phoneBannerPortrait), firstAskAt: ms(0))
    var rules = BannerSituation()
    var ledger = ModelLedger()
    var chance: SeededChance
    var isLandscape = false
    var lastRequest = 0
    var lastCover = 0
    var adNumber = 0

    static func narrow(_ size: AdSize) -> BannerSizes.Resolved {
      BannerSizes.Resolved(required: [.phoneBannerPortrait, .phoneBannerLandscape], current: size)
    }
    static let wide = BannerSizes.Resolved(required: [.mediumRectangle], current: .mediumRectangle)

    var sizes: BannerSizes.Resolved {
      rules.wantsWide ? Walk.wide : Walk.narrow(isLandscape ? .phoneBannerLandscape : .phoneBannerPortrait)
    }

    mutating func ad(_ kind: AdAction.Kind) throws -> AdContent {
      adNumber += 1
      var ad = try sampleAd(kind: kind, lifetimeMilliseconds: BannerRules.lifeMilliseconds, sizes: sizes.required)
      ad = AdContent(
        ad: ad.ad, images: ad.images, action: ad.action, lifetimeMilliseconds: ad.lifetimeMilliseconds, isTest: true,
        serveID: ad.serveID, requestID: ad.requestID, token: withUnsafeBytes(of: adNumber) { Array($0) },
        answeredAt: ms(rules.now))
      ledger.served(ad)
      return ad
    }

    /// The next happening, of which some are more likely, so that walks get far.
    mutating func next() -> ModelHappening {
      let likely: [ModelHappening] = [
        .answeredCovering, .answeredLeaving, .imagesCame, .shown, .tapped, .appSaysYes, .coverCame, .finished,
        .timePasses, .timePasses, .timePasses, .foreground, .back,
      ]
      if chance.next() % 3 != 0 { return likely[Int(chance.next() % UInt64(likely.count))] }
      let happening = ModelHappening.allCases[Int(chance.next() % UInt64(ModelHappening.allCases.count))]
      // The end comes rarely: nothing follows it.
      return happening == .stopped && chance.next() % 20 != 0 ? .timePasses : happening
    }

    mutating func step(_ happening: ModelHappening) throws -> (seen: [ModelTold], expected: [ModelTold]) {
      if happening == .timePasses {
        let soon = rules.now + Int64(chance.next() % 40_000) + 1
        rules.now = max(rules.now, min(soon, rules.nextDue ?? soon))
      }
      let actions = try act(happening, at: ms(rules.now))
      let expected = BannerRules.step(&rules, happening)
      for action in actions {
        switch action {
        case .request(let number): lastRequest = number
        case .fetchCover(_, let number): lastCover = number
        case .report(let report): ledger.take(report)
        default: break
        }
      }
      return (actions.compactMap { ModelTold($0) }, expected)
    }

    private mutating func act(_ happening: ModelHappening, at now: MonotonicTime) throws -> [BannerAction] {
      switch happening {
      case .answeredCovering: return machine.answered(.ad(try ad(.cover)), number: lastRequest, at: now)
      case .answeredLeaving: return machine.answered(.ad(try ad(.leave)), number: lastRequest, at: now)
      case .answeredError: return machine.answered(.error(.inventoryUnavailable), number: lastRequest, at: now)
      case .noAnswer: return machine.answered(.noAnswer, number: lastRequest, at: now)
      case .staleAnswer: return machine.answered(.ad(try ad(.cover)), number: lastRequest - 1, at: now)
      case .imagesCame: return machine.imagesFetched(true, number: lastRequest, at: now)
      case .imagesFailed: return machine.imagesFetched(false, number: lastRequest, at: now)
      case .shown: return machine.visibleFractionChanged(to: 1, at: now)
      case .hidden: return machine.visibleFractionChanged(to: 0, at: now)
      case .turned:
        if !rules.wantsWide { isLandscape.toggle() }
        return machine.sizesChanged(to: sizes, at: now)
      case .requiredOthers:
        let others =
          rules.wantsWide ? Walk.narrow(isLandscape ? .phoneBannerLandscape : .phoneBannerPortrait) : Walk.wide
        return machine.sizesChanged(to: others, at: now)
      case .tapped: return machine.tap(at: now)
      case .appSaysYes: return machine.decide(shouldBegin: true, at: now)
      case .appSaysNo: return machine.decide(shouldBegin: false, at: now)
      case .coverCame: return machine.coverFetched(true, number: lastCover, at: now)
      case .coverFailed: return machine.coverFetched(false, number: lastCover, at: now)
      case .finished: return machine.actionFinished(at: now)
      case .leftApplication: return machine.actionLeftApplication(at: now)
      case .cancelled: return machine.cancelAction(at: now)
      case .background: return machine.enteredBackground(at: now)
      case .foreground: return machine.enteredForeground(at: now)
      case .away: return machine.putAway(at: now)
      case .back: return machine.putBack(at: now)
      case .memoryWarning: return machine.memoryWarning(at: now)
      case .stopped: return machine.stop(at: now)
      case .started, .presentedModally, .presentedWithinDidLoad, .presentedAsPage, .presentedTooSmall, .closed,
        .drawingFailed, .timePasses:
        return machine.advance(to: now)
      }
    }
  }

  /// Walks of this many steps, until all steps are done.
  private static let walkSteps = 200
  private static let stepsPerSeed = 62_500

  @Test("No illegal callback and no missing one, over half a million random steps", arguments: 0..<8 as Range<UInt64>)
  func walks(seed: UInt64) throws {
    var met: Set<ModelTold> = []
    for number in 0..<BannerModelTests.stepsPerSeed / BannerModelTests.walkSteps {
      var walk = Walk(chance: SeededChance(seed: seed &* 1_000_003 &+ UInt64(number)))
      // A banner asks as soon as it is there.
      _ = try walk.step(.timePasses)
      var path: [ModelHappening] = []
      for _ in 0..<BannerModelTests.walkSteps {
        let happening = walk.next()
        path.append(happening)
        let (seen, expected) = try walk.step(happening)
        met.formUnion(seen)
        guard seen == expected else {
          Issue.record("seed \(seed), walk \(number), after \(path.suffix(12)): \(seen), and not \(expected)")
          return
        }
      }
      for happening in [ModelHappening.background, .foreground, .appSaysNo, .stopped] {
        let (seen, expected) = try walk.step(happening)
        #expect(seen == expected)
      }
      guard walk.ledger.faults.isEmpty, walk.ledger.unended == 0, walk.machine.isEnded else {
        Issue.record(
          "seed \(seed), walk \(number): \(walk.ledger.faults.prefix(3)), \(walk.ledger.unended) without an end")
        return
      }
    }
    let all: Set<ModelTold> = [
      .request, .willLoad, .didLoad, .didFinish, .asks, .fetchesCover, .covers, .uncovers, .leaves, .shows, .clears,
      .didFail(.serverFailure), .didFail(.inventoryUnavailable), .didFail(.bannerVisibleWithoutContent),
      .didFail(.applicationInactive), .didFail(.adUnloaded), .didFail(.assetLoadFailure), .didFail(.adAssetLoadPending),
    ]
    #expect(met.isSuperset(of: all), "the walks never met \(all.subtracting(met))")
  }
}
