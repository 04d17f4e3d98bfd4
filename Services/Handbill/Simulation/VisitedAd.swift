internal import AdClient
internal import AdCore

/// The ad of a visit: a banner, or a full-screen ad that covers the app or is one of its pages.
@DeviceActor
struct VisitedAd {
  /// What a user of the app notices, and the app itself.
  enum Happening {
    case loaded
    case failed(AdFailure)
    case seen
    case covered
    case leftApplication
    case other
  }

  private enum Object {
    case banner(Banner)
    case modal(Interstitial)
    case page(Interstitial)
  }

  private let object: Object
  private let device: Device

  init(
    _ wish: DevicePopulation.Wish, client: AdNetworkClient, imagesCome: Bool, coverComes: Bool
  ) throws(AdObjectError) {
    let images: ContentSource = { _ in imagesCome }
    let cover: ContentSource = { _ in coverComes }
    func interstitial() throws(AdObjectError) -> Interstitial {
      try Interstitial(client: client, placement: wish.placement, imageSource: images, coverSource: cover)
    }
    device = client.identity.device
    switch wish.form {
    case .banner:
      object = .banner(
        try Banner(
          client: client, placement: wish.placement, requiredSizes: wish.requiredSizes, imageSource: images,
          coverSource: cover))
    case .modal: object = .modal(try interstitial())
    case .page: object = .page(try interstitial())
    }
  }

  func listen(heard: @escaping (Happening) -> Void, shouldBegin: @escaping () -> Bool) {
    switch object {
    case .banner(let banner):
      banner.shouldBeginAction = { _ in shouldBegin() }
      banner.handler = { heard(Happening($0)) }
    case .modal(let ad), .page(let ad):
      ad.shouldBeginAction = { _ in shouldBegin() }
      ad.handler = { heard(Happening($0)) }
    }
  }

  var loadedAd: AdContent? {
    switch object {
    case .banner(let banner): banner.loadedAd
    case .modal(let ad), .page(let ad): ad.loadedAd
    }
  }

  var isActionInProgress: Bool {
    switch object {
    case .banner(let banner): banner.isActionInProgress
    case .modal(let ad), .page(let ad): ad.isActionInProgress
    }
  }

  func show() {
    switch object {
    case .banner(let banner): banner.visibleFractionChanged(to: 1)
    // One that failed meanwhile is not presented (D6).
    case .modal(let ad): try? ad.presentModally()
    case .page(let ad):
      try? ad.presentAsPage(width: 768, height: 1_024, orientation: .portrait)
      ad.visibleFractionChanged(to: 1)
    }
  }

  /// Not enough to be seen (M1).
  func showTooLittle() {
    if case .banner(let banner) = object { banner.visibleFractionChanged(to: 0.3) }
  }

  /// The app hides it, though the user goes nowhere (D12).
  func hide() {
    switch object {
    case .banner(let banner): banner.visibleFractionChanged(to: 0)
    case .modal(let ad): ad.closed()
    case .page(let ad): ad.visibleFractionChanged(to: 0)
    }
  }

  /// The interface turns: other sizes are shown of the same ad (T1, T8).
  func turn() {
    switch object {
    case .banner(let banner): banner.changeSize(to: SizeIdentifier.landscape)
    case .modal: break
    case .page(let ad): try? ad.presentAsPage(width: 1_024, height: 768, orientation: .landscape)
    }
  }

  func putAway() {
    switch object {
    case .banner(let banner): banner.putAway()
    case .modal: break
    case .page(let ad): ad.visibleFractionChanged(to: 0)
    }
  }

  func putBack() {
    switch object {
    case .banner(let banner):
      banner.putBack()
      banner.visibleFractionChanged(to: 1)
    case .modal: break
    case .page(let ad): ad.visibleFractionChanged(to: 1)
    }
  }

  func tap() { each({ $0.tap() }, { $0.tap() }) }
  func actionFinished() { each({ $0.actionFinished() }, { $0.actionFinished() }) }
  func actionLeftApplication() { each({ $0.actionLeftApplication() }, { $0.actionLeftApplication() }) }
  func cancelAction() { each({ $0.cancelAction() }, { $0.cancelAction() }) }
  func enteredBackground() { each({ $0.enteredBackground() }, { $0.enteredBackground() }) }
  func enteredForeground() { each({ $0.enteredForeground() }, { $0.enteredForeground() }) }
  func memoryWarning() { each({ $0.memoryWarning() }, { $0.memoryWarning() }) }

  func stop() {
    if case .modal(let ad) = object { ad.closed() }
    each({ $0.stop() }, { $0.stop() })
  }

  private func each(_ banner: (Banner) -> Void, _ interstitial: (Interstitial) -> Void) {
    switch object {
    case .banner(let object): banner(object)
    case .modal(let object), .page(let object): interstitial(object)
    }
  }
}

extension VisitedAd.Happening {
  init(_ event: BannerEvent) {
    self =
      switch event {
      case .told(.didLoad): .loaded
      case .told(.didFail(let failure)): .failed(failure)
      case .paid: .seen
      case .cover: .covered
      case .leaveApplication: .leftApplication
      case .told(.willLoad), .told(.actionDidFinish), .show, .clear, .uncover, .shownBriefly: .other
      }
  }

  init(_ event: InterstitialEvent) {
    self =
      switch event {
      case .told(.didLoad): .loaded
      case .told(.didFail(let failure)): .failed(failure)
      case .paid: .seen
      case .cover: .covered
      case .leaveApplication: .leftApplication
      case .told(.willLoad), .told(.didUnload), .told(.actionDidFinish), .presentModally, .presentAsPage, .remove,
        .uncover:
        .other
      }
  }
}
