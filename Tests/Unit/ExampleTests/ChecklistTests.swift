import AdClient
import ExampleTerminal
import Testing

/// The checklist of `docs/rules.md`, each line on both sample programs, by their keys and screens.
@MainActor
@Suite("The checklist for apps, on the sample programs")
struct SampleChecklistTests {
  private func withBanner(_ kind: SampleKind) async throws -> RunningSample {
    try await RunningSample(kind).withBanner()
  }

  private func withFullScreenAd(_ kind: SampleKind) async throws -> RunningSample {
    let sample = try await withBanner(kind).withFullScreenAd()
    sample.app.openFullScreenAd()
    return sample
  }

  @Test("T1: banners turn with the interface", arguments: SampleKind.allCases)
  func t1(_ kind: SampleKind) async throws {
    let sample = try await withBanner(kind)
    #expect(sample.app.screen.contains("768 x 66"))
    sample.app.press("o")
    #expect(sample.app.screen.contains("1024 x 66") && !sample.app.screen.contains("768 x 66"))
    #expect(sample.bannerRequestCount == 1, "S4: the same ad's other image")
  }

  @Test("T2: a banner is on screen only while it has an ad", arguments: SampleKind.allCases)
  func t2(_ kind: SampleKind) async throws {
    var behaviour = InMemoryNetwork.Behaviour()
    behaviour.fillPercent = 0
    let without = try await RunningSample(kind, behaviour).withBanner()
    #expect(!without.app.screen.contains("test-ad"))
    let with = try await withBanner(kind)
    #expect(with.app.screen.contains("test-ad"))
    #expect(with.count(.failed(.bannerVisibleWithoutContent)) == 0, "D4")
  }

  @Test("T3: what else the app does pauses when the user taps a banner", arguments: SampleKind.allCases)
  func t3(_ kind: SampleKind) async throws {
    let sample = try await withBanner(kind)
    #expect(!sample.app.isPaused)
    sample.app.press("t")
    #expect(sample.app.isPaused && sample.app.screen.contains("https://www.example.com/"))
  }

  @Test("T4: a warning of low memory is heeded while a banner is there", arguments: SampleKind.allCases)
  func t4(_ kind: SampleKind) async throws {
    let sample = try await withBanner(kind).withFullScreenAd()
    sample.app.press("m")
    #expect(sample.app.banner.isLoaded, "the user sees it")
    let other = try await withFullScreenAd(kind)
    other.app.press("m")
    #expect(!other.app.banner.isLoaded, "nobody sees it behind the full-screen ad")
  }

  @Test("T5: everything goes on when a banner's action has finished", arguments: SampleKind.allCases)
  func t5(_ kind: SampleKind) async throws {
    let sample = try await withBanner(kind)
    sample.app.press("t")
    sample.app.press("x")
    #expect(!sample.app.isPaused && sample.app.screen.contains("test-ad"))
  }

  @Test("T6: everything goes on when the app has cancelled a banner's action", arguments: SampleKind.allCases)
  func t6(_ kind: SampleKind) async throws {
    let sample = try await withBanner(kind)
    sample.app.press("t")
    sample.app.press("c")
    #expect(!sample.app.isPaused && sample.app.screen.contains("test-ad"))
    #expect(sample.cancelledCount == 1, "D9")
  }

  @Test(
    "T7: a new screen has its banner soon: one that screens share keeps its content", arguments: SampleKind.allCases)
  func t7(_ kind: SampleKind) async throws {
    let sample = try await withBanner(kind)
    let (screen, ad) = (sample.app.screen, sample.app.banner.loadedAd)
    sample.app.openOtherScreen()
    #expect(sample.app.screen != screen && sample.app.screen.contains("test-ad"))
    #expect(sample.app.banner.loadedAd == ad)
    #expect(sample.bannerRequestCount == 1)
  }

  @Test("T8: full-screen ads turn with the interface", arguments: SampleKind.allCases)
  func t8(_ kind: SampleKind) async throws {
    let sample = try await withFullScreenAd(kind)
    #expect(sample.app.screen.contains("768 x 911"))
    sample.app.press("o")
    #expect(sample.app.screen.contains("1024 x 655"))
    #expect(sample.app.fullScreenAd?.isLoaded == true)
  }

  @Test("T9: what else the app does pauses when the user taps a full-screen ad", arguments: SampleKind.allCases)
  func t9(_ kind: SampleKind) async throws {
    let sample = try await withFullScreenAd(kind)
    sample.app.press("t")
    #expect(sample.app.isPaused && sample.app.screen.contains("https://www.example.com/"))
  }

  @Test("T10: a warning of low memory is heeded while a full-screen ad is there", arguments: SampleKind.allCases)
  func t10(_ kind: SampleKind) async throws {
    let shown = try await withFullScreenAd(kind)
    shown.app.press("m")
    #expect(shown.app.fullScreenAd?.isLoaded == true, "the user sees it")
    let waiting = try await withBanner(kind).withFullScreenAd()
    waiting.app.press("m")
    #expect(waiting.app.fullScreenAd?.isLoaded == false, "another one is on its way")
  }

  @Test("T11: everything goes on when a full-screen ad's action has finished", arguments: SampleKind.allCases)
  func t11(_ kind: SampleKind) async throws {
    let sample = try await withFullScreenAd(kind)
    sample.app.press("t")
    sample.app.press("x")
    #expect(!sample.app.isPaused && sample.app.screen.contains("768 x 911"))
  }

  @Test("T12: everything goes on when the app has cancelled a full-screen ad's action", arguments: SampleKind.allCases)
  func t12(_ kind: SampleKind) async throws {
    let sample = try await withFullScreenAd(kind)
    sample.app.press("t")
    sample.app.press("c")
    #expect(!sample.app.isPaused && sample.app.screen.contains("768 x 911"))
    #expect(sample.cancelledCount == 1)
  }

  @Test(
    "T13: no full-screen ad expires before it is displayed: one that did is replaced long before",
    arguments: SampleKind.allCases
  )
  func t13(_ kind: SampleKind) async throws {
    let sample = try await withBanner(kind).withFullScreenAd()
    let first = try #require(sample.app.fullScreenAd)
    sample.clock.advance(byMilliseconds: 900_000)
    for await event in first.events where event == .told(.didUnload) { break }
    #expect(!first.isLoaded && sample.app.fullScreenAd !== first)
    await sample.withFullScreenAd().app.openFullScreenAd()
    #expect(sample.app.screen.contains("768 x 911"))
  }

  @Test("T14: a page whose ad has expired is cleaned up when it goes off screen", arguments: SampleKind.allCases)
  func t14(_ kind: SampleKind) async throws {
    let sample = try await withFullScreenAd(kind)
    let shown = try #require(sample.app.fullScreenAd)
    sample.clock.advance(byMilliseconds: 2_000_000)
    sample.app.press("o")
    #expect(shown.isLoaded && sample.app.screen.contains("1024 x 655"), "the user looks at it")
    sample.app.leaveFullScreenAd()
    #expect(!shown.isLoaded && !sample.app.screen.contains("1024 x 655"))
    #expect(sample.app.fullScreenAd !== shown, "D5: the next ad is another object's")
  }

  @Test("The inspector opens by a key, and errors are tried with the network off", arguments: SampleKind.allCases)
  func inspector(_ kind: SampleKind) async throws {
    let sample = try await withBanner(kind)
    sample.app.press("i")
    #expect(sample.app.screen.contains("handbill explain") && sample.app.screen.contains("didLoad"))
    sample.app.press("i")
    #expect(sample.app.screen.contains("i: "))
    var behaviour = InMemoryNetwork.Behaviour()
    behaviour.isReachable = false
    let offline = try await RunningSample(kind, behaviour).withBanner()
    #expect(!offline.app.screen.contains("test-ad"))
    offline.app.press("i")
    #expect(offline.app.screen.contains("the network in memory is not reachable"))
    offline.app.press("i")
    offline.app.press("q")
    #expect(offline.app.isOver)
  }
}
