import AdClient
import ExampleTerminal

/// A game for a terminal: who takes the last match loses. A banner stands under the menu and the table, and between two
/// games a full-screen ad covers everything, if one is there.
@MainActor
final class Game: TerminalProgram, BannerDelegate, InterstitialDelegate {
  private enum Screen {
    case menu
    case table
    case ad
  }

  private static let matchesAtStart = 21

  let ads: AdNetworkClient
  private(set) var banner: Banner
  private(set) var between: Interstitial?
  /// The clock of the player whose turn it is stands while an ad covers the game (T3, T9).
  private(set) var isPaused = false
  private(set) var isOver = false
  private var place = Screen.menu
  private var matches = Game.matchesAtStart
  private var result = ""
  private var isLandscape = false
  private var picture: String?
  private var fullScreen: String?
  private var cover: String?
  private var showsInspector = false

  init(ads: AdNetworkClient) throws {
    self.ads = ads
    banner = try Banner(client: ads, placement: "under-the-table")
    banner.delegate = self
    prepareAd()
  }

  /// The next full-screen ad is loaded long before it is wanted (T13).
  private func prepareAd() {
    between = try? Interstitial(client: ads, placement: "between-games")
    between?.delegate = self
  }

  // MARK: What there is to see

  var screen: String {
    if showsInspector { return ads.inspector.text + "\ni: back\n" }
    if let cover { return Drawing.cover(cover) + "\n" }
    if place == .ad, let fullScreen { return "\(fullScreen)\n\nt: tap, x: close\n" }
    let body =
      place == .menu
      ? ["THE LAST MATCH", result, "", "n: new game"]
      : ["\(String(repeating: "|", count: matches))  (\(matches))", "", "1, 2, 3: take so many"]
    let keys = "t: tap the ad, o: turn, m: low memory, z: background, i: ad inspector, q: end"
    return (body + ["", picture ?? "", keys, ""]).joined(separator: "\n")
  }

  // MARK: What the user does

  func press(_ key: Character) {
    switch key {
    case "i": showsInspector.toggle()
    case "q": isOver = true
    case "o": turn()
    case "m":
      banner.memoryWarning()
      between?.memoryWarning()
    case "z":
      banner.enteredBackground()
      between?.enteredBackground()
      banner.enteredForeground()
      between?.enteredForeground()
    case _ where cover != nil: pressOverCover(key)
    case "t": place == .ad ? between?.tap() : banner.tap()
    case "x" where place == .ad: between?.closed()
    case "n" where place == .menu:
      matches = Self.matchesAtStart
      place = .table
      if between == nil { prepareAd() }
    case "1", "2", "3": if place == .table { take(Int(String(key)) ?? 1) }
    default: break
    }
  }

  private func pressOverCover(_ key: Character) {
    let isBanners = banner.isActionInProgress
    switch key {
    case "x": isBanners ? banner.actionFinished() : between?.actionFinished()
    case "c":
      // Somebody calls: the game goes on at once.
      isBanners ? banner.cancelAction() : between?.cancelAction()
      isPaused = false
    default: break
    }
  }

  private func turn() {
    isLandscape.toggle()
    banner.changeSize(to: isLandscape ? SizeIdentifier.landscape : SizeIdentifier.portrait)
    if place == .ad, let ad = between?.loadedAd { drawFullScreen(ad) }
  }

  private func take(_ count: Int) {
    matches -= min(count, matches)
    guard matches > 0 else { return end("You took the last one.") }
    // What is left is one more than a multiple of four, where it can be.
    matches -= min(matches, max(1, (matches + 3) % 4))
    if matches == 0 { end("The last one was mine.") }
  }

  private func end(_ text: String) {
    result = text
    place = .menu
    guard let between, between.isLoaded else { return }
    do {
      try between.presentModally()
      place = .ad
      banner.visibleFractionChanged(to: 0, userNavigated: true)
    } catch { result += " \(error)" }
  }

  // MARK: What the banner tells (D1, D7, D8)

  func bannerDidLoad(_ banner: Banner) { if place != .ad { banner.visibleFractionChanged(to: 1) } }

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

  // MARK: What the full-screen ad tells (D5, D7, D8)

  func interstitialDidUnload(_ interstitial: Interstitial) { prepareAd() }

  /// No ad for now: the next game asks for another.
  func interstitial(_ interstitial: Interstitial, didFail failure: AdFailure) { between = nil }

  func interstitial(_ interstitial: Interstitial, actionShouldBeginLeavingApplication willLeave: Bool) -> Bool {
    isPaused = !willLeave
    return true
  }

  func interstitialActionDidFinish(_ interstitial: Interstitial) { isPaused = false }

  func interstitial(_ interstitial: Interstitial, perform event: InterstitialEvent) {
    switch event {
    case .presentModally(let ad): drawFullScreen(ad)
    case .remove:
      (fullScreen, place) = (nil, .menu)
      if banner.isLoaded { banner.visibleFractionChanged(to: 1) }
    case .cover(let destination): cover = destination
    case .uncover: cover = nil
    case .told, .presentAsPage, .leaveApplication, .paid: break
    }
  }

  private func drawFullScreen(_ ad: AdContent) {
    fullScreen = Drawing.picture(ad, isLandscape ? .padInterstitialLandscape : .padInterstitialPortrait)
  }
}
