import Testing

@testable import AdBasics
@testable import AdCore

@Suite("S: sizes")
struct SizeTests {
  @Test(
    "S1, S2, S3, S7: an identifier resolves to the device's size",
    arguments: [
      ("portrait", Device.phone, 320, 50), ("landscape", .phone, 480, 32), ("320x50", .phone, 320, 50),
      ("480x32", .phone, 480, 32), ("portrait", .pad, 768, 66), ("landscape", .pad, 1_024, 66),
      ("mediumRectangle", .phone, 300, 250), ("mediumRectangle", .pad, 300, 250), ("300x250", .pad, 300, 250),
    ])
  func banners(identifier: String, device: Device, width: Int, height: Int) throws {
    let size = try #require(AdSize.resolve(identifier: identifier, device: device))
    #expect(size.width == width && size.height == height && size.heightRange == height...height)
    #expect(size.format == .banner && size.devices.contains(device) && size.identifiers.contains(identifier))
  }

  @Test(
    "S3: an unknown identifier is an error, not a default",
    arguments: ["", "Portrait", "portrait ", "768x66", "320x51", "square", "320×50"])
  func unknown(identifier: String) {
    for device in Device.allCases {
      for format in AdFormat.allCases {
        #expect(AdSize.resolve(identifier: identifier, device: device, format: format) == nil)
      }
      if identifier.isEmpty { continue }
      for (required, current) in [([identifier], ""), (["portrait"], identifier)] {
        guard
          case .refused(.configurationError, let reason) = SizeSelection.select(
            required: required, current: current, device: device, isInterstitial: false)
        else {
          Issue.record("“\(identifier)” was taken")
          continue
        }
        #expect(reason.hasPrefix("S3") && reason.contains("portrait, "))
      }
    }
  }

  @Test("S3: the older names of the iPhone's sizes name nothing on an iPad", arguments: ["320x50", "480x32"])
  func olderNames(identifier: String) {
    #expect(AdSize.resolve(identifier: identifier, device: .pad) == nil)
  }

  @Test("S8: no two sizes answer to one identifier on one device")
  func uniqueIdentifiers() {
    for device in Device.allCases {
      for format in AdFormat.allCases {
        let identifiers = AdSize.identifiers(device: device, format: format)
        #expect(Set(identifiers).count == identifiers.count)
      }
    }
    #expect(AdSize.allCases.map(\.rawValue) == Array(1...UInt8(AdSize.allCases.count)))
    #expect(AdSize(name: "portrait") == nil)
  }

  @Test("S4: sizes left unset mean portrait and landscape, with the first as current")
  func unset() {
    #expect(
      SizeSelection.select(required: [], current: "", device: .phone, isInterstitial: false)
        == .resolved(required: [.phoneBannerPortrait, .phoneBannerLandscape], current: .phoneBannerPortrait))
    #expect(
      SizeSelection.select(required: [], current: "landscape", device: .pad, isInterstitial: false)
        == .resolved(required: [.padBannerPortrait, .padBannerLandscape], current: .padBannerLandscape))
  }

  @Test("S4: the current identifier must be in the required set, by the size it names")
  func current() {
    #expect(
      SizeSelection.select(required: ["portrait"], current: "320x50", device: .phone, isInterstitial: false)
        == .resolved(required: [.phoneBannerPortrait], current: .phoneBannerPortrait))
    #expect(
      SizeSelection.select(required: ["portrait"], current: "landscape", device: .phone, isInterstitial: false)
        == .refused(
          .configurationError, reason: "S4: the current size “landscape” is not among the required sizes"))
  }

  @Test("S4: a size required twice counts once; more identifiers than the limit are refused")
  func repetition() {
    let twice = ["320x50", "portrait", "mediumRectangle", "portrait"]
    #expect(
      SizeSelection.select(required: twice, current: "", device: .phone, isInterstitial: false)
        == .resolved(required: [.phoneBannerPortrait, .mediumRectangle], current: .phoneBannerPortrait))
    for (count, isTaken) in [(16, true), (17, false)] {
      let selection = SizeSelection.select(
        required: Array(repeating: "portrait", count: count), current: "", device: .phone, isInterstitial: false)
      #expect((selection == .resolved(required: [.phoneBannerPortrait], current: .phoneBannerPortrait)) == isTaken)
    }
  }

  @Test("S4: an ad is eligible only with an image for every required size")
  func images() {
    let both: [AdSize] = [.phoneBannerPortrait, .phoneBannerLandscape]
    let one: [AdSize: String] = [.phoneBannerPortrait: "https://a.example/1.png"]
    #expect(SizeSelection.isServed(required: [.phoneBannerPortrait], by: one))
    #expect(!SizeSelection.isServed(required: both, by: one))
    #expect(SizeSelection.isServed(required: both, by: one.merging([.phoneBannerLandscape: "x"]) { $1 }))
  }

  @Test("S5: an interstitial is refused on an iPhone, and has its own sizes on an iPad")
  func interstitials() {
    #expect(
      SizeSelection.select(required: [], current: "", device: .phone, isInterstitial: true)
        == .refused(.configurationError, reason: "S5: interstitials are for the device pad only"))
    #expect(
      SizeSelection.select(required: [], current: "", device: .pad, isInterstitial: true)
        == .resolved(
          required: [.padInterstitialPortrait, .padInterstitialLandscape], current: .padInterstitialPortrait))
    guard
      case .refused(.configurationError, _) = SizeSelection.select(
        required: ["mediumRectangle"], current: "", device: .pad, isInterstitial: true)
    else {
      Issue.record("a medium rectangle was taken for an interstitial")
      return
    }
  }

  @Test(
    "S6: a host view has the screen's width and a height within 113 points of the screen's",
    arguments: [
      (1_024, 655, Orientation.landscape, true), (1_024, 768, .landscape, true), (1_024, 654, .landscape, false),
      (1_024, 769, .landscape, false), (1_023, 700, .landscape, false), (1_025, 700, .landscape, false),
      (768, 911, .portrait, true), (768, 1_024, .portrait, true), (768, 910, .portrait, false),
      (768, 1_025, .portrait, false), (767, 1_000, .portrait, false), (769, 1_000, .portrait, false),
      (1_024, 700, .portrait, false), (768, 1_000, .landscape, false),
    ])
  func hostViews(width: Int, height: Int, orientation: Orientation, isAccepted: Bool) {
    #expect(AdSize.hostViewAccepts(width: width, height: height, orientation: orientation) == isAccepted)
  }

  @Test("S9: a full-screen creative is drawn for the smallest height and may grow to the largest")
  func fullScreen() {
    #expect(AdSize.padInterstitialPortrait.width == 768 && AdSize.padInterstitialPortrait.height == 911)
    #expect(AdSize.padInterstitialPortrait.heightRange == 911...1_024)
    #expect(AdSize.padInterstitialLandscape.width == 1_024 && AdSize.padInterstitialLandscape.height == 655)
    #expect(AdSize.padInterstitialLandscape.heightRange == 655...768)
  }
}
