import AdBasics

@testable import AdClient

/// What an app sees of an ad object, as both descriptions of the rules tell it.
enum ModelTold: Hashable {
  case request, willLoad, didLoad, didUnload, didFinish
  case didFail(AdError)
  case asks, fetchesCover, covers, uncovers, leaves
  case shows, clears, modal, page, removes
  case refused(PresentationError)

  init?(_ action: BannerAction) {
    switch action {
    case .request: self = .request
    case .tell(.willLoad): self = .willLoad
    case .tell(.didLoad): self = .didLoad
    case .tell(.didFail(let failure)): self = .didFail(failure.code)
    case .tell(.actionDidFinish): self = .didFinish
    case .askShouldBegin: self = .asks
    case .fetchCover: self = .fetchesCover
    case .cover: self = .covers
    case .uncover: self = .uncovers
    case .leaveApplication: self = .leaves
    case .show: self = .shows
    case .clear: self = .clears
    case .fetchImages, .report, .noteBriefDisplay: return nil
    }
  }

  init?(_ action: InterstitialAction) {
    switch action {
    case .request: self = .request
    case .tell(.willLoad): self = .willLoad
    case .tell(.didLoad): self = .didLoad
    case .tell(.didFail(let failure)): self = .didFail(failure.code)
    case .tell(.didUnload): self = .didUnload
    case .tell(.actionDidFinish): self = .didFinish
    case .askShouldBegin: self = .asks
    case .fetchCover: self = .fetchesCover
    case .cover: self = .covers
    case .uncover: self = .uncovers
    case .leaveApplication: self = .leaves
    case .presentModally: self = .modal
    case .presentAsPage: self = .page
    case .remove: self = .removes
    case .fetchImages, .report: return nil
    }
  }
}

/// What happens to an ad object: the app, the user, the network, time.
enum ModelHappening: CaseIterable, Hashable {
  case answeredCovering, answeredLeaving, answeredError, noAnswer, staleAnswer
  case imagesCame, imagesFailed
  case shown, hidden, turned, requiredOthers
  case tapped, appSaysYes, appSaysNo, coverCame, coverFailed
  case finished, leftApplication, cancelled
  case background, foreground, away, back, memoryWarning, stopped
  case started, presentedModally, presentedWithinDidLoad, presentedAsPage, presentedTooSmall, closed, drawingFailed
  case timePasses
}

/// One row of a table of rules: the first whose `when` holds says what must follow.
struct ModelRule<Situation>: Sendable {
  let name: String
  let when: @Sendable (Situation, ModelHappening) -> Bool
  let then: @Sendable (inout Situation) -> Void

  init(
    _ name: String, when: @escaping @Sendable (Situation, ModelHappening) -> Bool,
    then: @escaping @Sendable (inout Situation) -> Void
  ) {
    self.name = name
    self.when = when
    self.then = then
  }
}

/// What each served ad was told of: nothing twice, nothing before its time, and its end in the end.
struct ModelLedger {
  private var kinds: [[UInt8]: [String: Int]] = [:]
  private(set) var faults: [String] = []

  mutating func served(_ ad: AdContent) { kinds[ad.token] = [:] }

  mutating func take(_ report: AdReport) {
    guard case .ad(let ad) = report.subject else { return }
    var told = kinds[ad.token] ?? [:]
    let kind: String
    switch report.kind {
    case .rendered: kind = "rendered"
    case .viewed: kind = "viewed"
    case .unloaded: kind = "unloaded"
    case .neverShown, .expiredUnseen, .shownBriefly:
      faults.append("the machines leave these to their objects")
      return
    case .failed: kind = "failed"
    case .click: kind = "click"
    case .blocked: kind = "blocked"
    case .cancelled: kind = "cancelled"
    }
    told[kind, default: 0] += 1
    let once = ["rendered", "viewed", "unloaded"].contains(kind)
    if once, told[kind] != 1 { faults.append("\(kind) twice") }
    if kind == "viewed", told["rendered"] == nil { faults.append("M1: viewed, and never rendered") }
    if kind == "click", told["rendered"] == nil { faults.append("M5: a click on what was never on screen") }
    if ["rendered", "viewed"].contains(kind), told["unloaded"] != nil { faults.append("\(kind) after its end") }
    kinds[ad.token] = told
  }

  /// Ads whose end was not told, at the end of all.
  var unended: Int { kinds.values.count { $0["unloaded"] == nil } }
}
