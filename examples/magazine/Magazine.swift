import AdClient
import ExampleTerminal

/// A magazine for a terminal: pages that one scrolls through. One banner stands under every page of text (T7), and one
/// of the pages is a full-screen ad, if there is one.
@MainActor
final class Magazine: TerminalProgram, BannerDelegate, InterstitialDelegate {
  private static let texts = [
    "THE LAKE\n\nOn still days the far shore stands on its head.",
    "BREAD\n\nFlour, water, salt, and a night in between.",
    "TIDES\n\nTwice a day the sea thinks better of it.",
  ]
  /// Where the full-screen ad stands among the pages.
  private static let adPage = 2
  private static let pageCount = texts.count + 1

  let ads: AdNetworkClient
  private(set) var banner: Banner
  private(set) var page: Interstitial?
  /// The text is read aloud, but not while an ad covers it (T3, T9).
  private(set) var isPaused = false
  private(set) var isOver = false
  private(set) var number = 0
  private var isLandscape = false
  private var picture: String?
  private var fullScreen: String?
  private var cover: String?
  private var showsInspector = false

  init(ads: AdNetworkClient) throws {
    self.ads = ads
    banner = try Banner(client: ads, placement: "under-the-text")
    banner.delegate = self
    prepareAd()
  }

  private func prepareAd() {
    page = try? Interstitial(client: ads, placement: "full-page")
    page?.delegate = self
  }

  private var isAdPage: Bool { number == Self.adPage }

  // MARK: What there is to see

  var screen: String {
    if showsInspector { return ads.inspector.text + "\ni: back\n" }
    if let cover { return Drawing.cover(cover) + "\n" }
    let keys =
      "n: next page, p: page before, t: tap the ad, o: turn, m: low memory, z: background, i: inspector, q: end"
    if isAdPage { return [fullScreen ?? "(this page is for rent)", "", keys, ""].joined(separator: "\n") }
    let text = Self.texts[number > Self.adPage ? number - 1 : number]
    return [text, "", picture ?? "", keys, ""].joined(separator: "\n")
  }

  // MARK: What the user does

  func press(_ key: Character) {
    switch key {
    case "i": showsInspector.toggle()
    case "q": isOver = true
    case "o": turn()
    case "m":
      banner.memoryWarning()
      page?.memoryWarning()
    case "z":
      banner.enteredBackground()
      page?.enteredBackground()
      banner.enteredForeground()
      page?.enteredForeground()
    case _ where cover != nil: pressOverCover(key)
    case "t": isAdPage ? page?.tap() : banner.tap()
    case "n": scroll(to: min(number + 1, Self.pageCount - 1))
    case "p": scroll(to: max(number - 1, 0))
    default: break
    }
  }

  private func pressOverCover(_ key: Character) {
    let isBanners = banner.isActionInProgress
    switch key {
    case "x": isBanners ? banner.actionFinished() : page?.actionFinished()
    case "c":
      // The reading goes on at once.
      isBanners ? banner.cancelAction() : page?.cancelAction()
      isPaused = false
    default: break
    }
  }

  private func turn() {
    isLandscape.toggle()
    banner.changeSize(to: isLandscape ? SizeIdentifier.landscape : SizeIdentifier.portrait)
    if isAdPage { presentPage() }
  }

  /// One banner is on every page of text: to another one it moves with its content (T7). A page that goes off screen says
  /// so, and is cleaned up if its ad has expired (T14).
  private func scroll(to next: Int) {
    guard next != number else { return }
    let wasAdPage = isAdPage
    number = next
    if wasAdPage { page?.visibleFractionChanged(to: 0) }
    if page == nil { prepareAd() }
    if isAdPage {
      banner.visibleFractionChanged(to: 0, userNavigated: true)
      presentPage()
    } else if banner.isLoaded {
      banner.visibleFractionChanged(to: 1)
    }
  }

  private func presentPage() {
    guard let page, page.isLoaded else { return }
    do {
      // The smallest height of S6, which leaves room for the app's own bars.
      try isLandscape
        ? page.presentAsPage(width: 1_024, height: 655, orientation: .landscape)
        : page.presentAsPage(width: 768, height: 911, orientation: .portrait)
      page.visibleFractionChanged(to: 1)
    } catch { fullScreen = "\(error)" }
  }

  // MARK: What the banner tells (D1, D7, D8)

  func bannerDidLoad(_ banner: Banner) { if !isAdPage { banner.visibleFractionChanged(to: 1) } }

  func banner(_ banner: Banner, didFail failure: AdFailure) {
    picture = nil
    banner.visibleFractionChanged(to: 0)
  }

  func banner(_ banner: Banner, actionShouldBeginLeavingApplication willLeave: Bool) -> Bool {
    isPaused = !willLeave
    return true
  }

  func bannerActionDidFinish(_ banner: Banner) { isPaused = false }

  func banner(_ banner: Banner, perform event: BannerEvent) {
    switch event {
    case .show(let ad, let size): picture = Drawing.picture(ad, size)
    case .clear: picture = nil
    case .cover(let destination): cover = destination
    case .uncover: cover = nil
    case .told, .leaveApplication, .shownBriefly, .paid: break
    }
  }

  // MARK: What the page tells (D5, D7, D8)

  func interstitialDidLoad(_ interstitial: Interstitial) { if isAdPage { presentPage() } }

  func interstitialDidUnload(_ interstitial: Interstitial) { prepareAd() }

  /// No ad for now: the next page that is turned asks for another.
  func interstitial(_ interstitial: Interstitial, didFail failure: AdFailure) { page = nil }

  func interstitial(_ interstitial: Interstitial, actionShouldBeginLeavingApplication willLeave: Bool) -> Bool {
    isPaused = !willLeave
    return true
  }

  func interstitialActionDidFinish(_ interstitial: Interstitial) { isPaused = false }

  func interstitial(_ interstitial: Interstitial, perform event: InterstitialEvent) {
    switch event {
    case .presentAsPage(let ad):
      fullScreen = Drawing.picture(ad, isLandscape ? .padInterstitialLandscape : .padInterstitialPortrait)
    case .remove: fullScreen = nil
    case .cover(let destination): cover = destination
    case .uncover: cover = nil
    case .told, .presentModally, .leaveApplication, .paid: break
    }
  }
}
