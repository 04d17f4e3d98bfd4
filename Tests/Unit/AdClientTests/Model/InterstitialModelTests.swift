import AdBasics
import Testing

@testable import AdClient

@Suite("Interstitial: the state machine against the table of rules")
struct InterstitialModelTests {
  private struct Walk {
    var machine = InterstitialStateMachine(requiredSizes: interstitialSizes)
    var rules = InterstitialSituation()
    var ledger = ModelLedger()
    var chance: SeededChance
    var lastCover = 0
    var adNumber = 0

    mutating func ad(_ kind: AdAction.Kind) throws -> AdContent {
      adNumber += 1
      let ad = try interstitialAd(kind: kind, lifetimeMilliseconds: InterstitialRules.lifeMilliseconds)
      let numbered = AdContent(
        ad: ad.ad, images: ad.images, action: ad.action, lifetimeMilliseconds: ad.lifetimeMilliseconds, isTest: true,
        serveID: ad.serveID, requestID: ad.requestID, token: withUnsafeBytes(of: adNumber) { Array($0) },
        answeredAt: ms(rules.now))
      ledger.served(numbered)
      return numbered
    }

    mutating func next() -> ModelHappening {
      let likely: [ModelHappening] = [
        .started, .answeredCovering, .answeredLeaving, .imagesCame, .presentedModally, .presentedAsPage, .shown,
        .tapped,
        .appSaysYes, .coverCame, .timePasses, .foreground,
      ]
      if chance.next() % 3 != 0 { return likely[Int(chance.next() % UInt64(likely.count))] }
      let happening = ModelHappening.allCases[Int(chance.next() % UInt64(ModelHappening.allCases.count))]
      return happening == .stopped && chance.next() % 5 != 0 ? .timePasses : happening
    }

    mutating func step(_ happening: ModelHappening) throws -> (seen: [ModelTold], expected: [ModelTold]) {
      if happening == .timePasses {
        let soon = rules.now + Int64(chance.next() % 200_000) + 1
        rules.now = max(rules.now, min(soon, rules.nextDue ?? soon))
      }
      let (actions, refusal) = try act(happening, at: ms(rules.now))
      let expected = InterstitialRules.step(&rules, happening)
      for action in actions {
        switch action {
        case .fetchCover(_, let number): lastCover = number
        case .report(let report): ledger.take(report)
        default: break
        }
      }
      return (actions.compactMap { ModelTold($0) } + (refusal.map { [.refused($0)] } ?? []), expected)
    }

    private mutating func act(
      _ happening: ModelHappening, at now: MonotonicTime
    ) throws -> InterstitialStateMachine.Presentation {
      switch happening {
      case .presentedModally: return machine.presentModally(isWithinDidLoad: false, at: now)
      case .presentedWithinDidLoad: return machine.presentModally(isWithinDidLoad: true, at: now)
      case .presentedAsPage: return machine.presentAsPage(width: 1_024, height: 700, orientation: .landscape, at: now)
      case .presentedTooSmall: return machine.presentAsPage(width: 320, height: 50, orientation: .portrait, at: now)
      default: return (try actions(happening, at: now), nil)
      }
    }

    private mutating func actions(_ happening: ModelHappening, at now: MonotonicTime) throws -> [InterstitialAction] {
      switch happening {
      case .started: machine.start(device: .pad, isAnotherLoading: false, at: now)
      case .answeredCovering: machine.answered(.ad(try ad(.cover)), at: now)
      case .answeredLeaving: machine.answered(.ad(try ad(.leave)), at: now)
      case .answeredError: machine.answered(.error(.inventoryUnavailable), at: now)
      case .noAnswer: machine.answered(.noAnswer, at: now)
      case .imagesCame: machine.imagesFetched(true, at: now)
      case .imagesFailed: machine.imagesFetched(false, at: now)
      case .shown: machine.visibleFractionChanged(to: 1, at: now)
      case .hidden: machine.visibleFractionChanged(to: 0, at: now)
      case .tapped: machine.tap(at: now)
      case .appSaysYes: machine.decide(shouldBegin: true, at: now)
      case .appSaysNo: machine.decide(shouldBegin: false, at: now)
      case .coverCame: machine.coverFetched(true, number: lastCover, at: now)
      case .coverFailed: machine.coverFetched(false, number: lastCover, at: now)
      case .finished: machine.actionFinished(at: now)
      case .leftApplication: machine.actionLeftApplication(at: now)
      case .cancelled: machine.cancelAction(at: now)
      case .closed: machine.closed(at: now)
      case .drawingFailed: machine.failed(.assetLoadFailure, at: now)
      case .background: machine.enteredBackground(at: now)
      case .foreground: machine.enteredForeground(at: now)
      case .memoryWarning: machine.memoryWarning(at: now)
      case .stopped: machine.stop(at: now)
      case .staleAnswer, .turned, .requiredOthers, .away, .back, .timePasses, .presentedModally,
        .presentedWithinDidLoad, .presentedAsPage, .presentedTooSmall:
        machine.advance(to: now)
      }
    }
  }

  /// An object lives once: its walks are short.
  private static let walkSteps = 50
  private static let stepsPerSeed = 62_500

  @Test("No illegal callback and no missing one, over half a million random steps", arguments: 0..<8 as Range<UInt64>)
  func walks(seed: UInt64) throws {
    var met: Set<ModelTold> = []
    for number in 0..<InterstitialModelTests.stepsPerSeed / InterstitialModelTests.walkSteps {
      var walk = Walk(chance: SeededChance(seed: seed &* 1_000_003 &+ UInt64(number)))
      var path: [ModelHappening] = []
      for _ in 0..<InterstitialModelTests.walkSteps {
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
      guard walk.ledger.faults.isEmpty, walk.ledger.unended == 0, walk.machine.isFinished else {
        Issue.record(
          "seed \(seed), walk \(number): \(walk.ledger.faults.prefix(3)), \(walk.ledger.unended) without an end")
        return
      }
    }
    let all: Set<ModelTold> = [
      .request, .willLoad, .didLoad, .didUnload, .didFinish, .asks, .fetchesCover, .covers, .uncovers, .leaves, .modal,
      .page, .removes, .refused(.notLoaded), .refused(.withinDidLoad), .refused(.alreadyPresented),
      .refused(.invalidPageSize), .didFail(.serverFailure), .didFail(.inventoryUnavailable),
      .didFail(.applicationInactive), .didFail(.adUnloaded), .didFail(.assetLoadFailure), .didFail(.adAssetLoadPending),
    ]
    #expect(met.isSuperset(of: all), "the walks never met \(all.subtracting(met))")
  }
}
