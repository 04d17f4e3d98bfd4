import AdCore
import TestValues
import Testing

@Suite("M8: what a store link carries of the ad that led there")
struct ClickReferenceTests {
  private let now = Timestamp.sample

  private func reference(_ number: UInt64, partition: Int32 = 3) -> ClickReference {
    ClickReference(
      serveID: ServeID(timestamp: now, randomHigh: 5, randomLow: number), partition: partition,
      app: known(AppID("shop")))
  }

  @Test(
    "M8: it says serve, partition and whose it is to whoever has the network's keys, and is the same text each time")
  func roundTrip() throws {
    let references = try ClickReferences(ring: .sample(1, 2))
    for partition in [0, 1, 3, Int32.max] {
      let reference = reference(9, partition: partition)
      let text = references.text(of: reference, now: now)
      #expect(text.utf8.count == ClickReference.textBytes && text.utf8.count <= 90)
      #expect(
        text.utf8.allSatisfy { ($0 | 32 >= 97 && $0 | 32 <= 122) || (48...57).contains($0) || $0 == 45 || $0 == 95 })
      #expect(references.open(text) == reference)
      #expect(references.open(text)?.isFor(known(AppID("shop"))) == true)
      #expect(references.open(text)?.isFor(known(AppID("chess"))) == false)
      #expect(try ClickReferences(ring: .sample(1, 2)).text(of: reference, now: now) == text)
    }
  }

  @Test("M8: nobody makes or alters one: each character counts, and other keys' are nothing")
  func forged() throws {
    let references = try ClickReferences(ring: .sample(1))
    let text = references.text(of: reference(9), now: now)
    for place in text.indices {
      var other = text
      other.replaceSubrange(place...place, with: text[place] == "A" ? "B" : "A")
      #expect(references.open(other) != reference(9))
      // The last character has bits that stand for nothing.
      if place != text.index(before: text.endIndex) { #expect(references.open(other) == nil) }
    }
    #expect(try ClickReferences(ring: .sample(2)).open(text) == nil)
    for wrong in ["", "A", text + "A", String(text.dropLast()), text + "=", String(repeating: "A", count: text.count)] {
      #expect(references.open(wrong) == nil)
    }
  }

  @Test(
    "A8: it reveals nothing: no part of the serve id stands in it, and two serves have no part in common but the head")
  func secrecy() throws {
    let references = try ClickReferences(ring: .sample(1))
    let texts = (1...50).map { references.text(of: reference($0), now: now) }
    #expect(Set(texts.map { $0.dropFirst(4) }).count == 50)
    #expect(Set(texts.map { $0.dropFirst(4).prefix(12) }).count == 50)
    for id in (1...50).map({ reference($0).serveID.description }) {
      #expect(!texts.contains { $0.lowercased().contains(id.suffix(6)) })
    }
  }

  @Test("A8, I1: it is no token: nothing of an ad can be told with it")
  func noToken() throws {
    let text = try ClickReferences(ring: .sample(1)).text(of: reference(9), now: now)
    let opener = try ServeTokenOpener(ring: .sample(1))
    #expect(opener.open(Array(text.utf8), now: now) == .forged)
    let padded = Array(text.utf8) + [UInt8](repeating: 0, count: 100)
    #expect(opener.open(padded, now: now) == .forged)
  }

  @Test("M8: a key that encrypts no more still opens: a link lives for weeks")
  func rotated() throws {
    let old = try ClickReferences(ring: .sample(1)).text(of: reference(9), now: now)
    let later = try ClickReferences(ring: .sample(1, 2))
    #expect(later.open(old) == reference(9))
  }

  @Test("D11, M8: the macro of a store link becomes the advertised app's reference; another destination stays")
  func macro() {
    let store = AdAction(kind: .leave, destination: "https://apps.example/id1?ref={click:shop}&x=1&again={click:shop}")
    #expect(store.served { "of-\($0)" }.destination == "https://apps.example/id1?ref=of-shop&x=1&again=of-shop")
    #expect(store.served { _ in "" }.destination == "https://apps.example/id1?ref=&x=1&again=")
    for action in [
      AdAction(kind: .leave, destination: "https://apps.example/id1"),
      AdAction(kind: .cover, destination: "https://a.example/?{click:shop}"),
    ] {
      #expect(
        action.served { _ in
          Issue.record("asked for nothing")
          return "R"
        } == action)
    }
  }

  @Test("D11, M8: the macro stands in the query of a store link, names one app, and leaves room for the reference")
  func macroFaults() {
    func faults(_ kind: AdAction.Kind, _ destination: String) -> [String] {
      let ad = Ad.sample("a", of: known(CampaignID("c"))) { $0.action = AdAction(kind: kind, destination: destination) }
      return CatalogRecord.ad(ad).faults().map(\.field)
    }
    #expect(faults(.leave, "https://apps.example/id1?c={click:shop}").isEmpty)
    for wrong in [
      "https://{click:shop}.example/id1?c=1", "https://apps.example/{click:shop}", "https://apps.example/id1?c={click}",
      "https://apps.example/id1?c={click:}", "https://apps.example/id1?c={click:Not an id}",
      "https://apps.example/id1?c={click:shop", "https://apps.example/id1?c={click:shop}&d={click:chess}",
    ] { #expect(faults(.leave, wrong).first == "action.destination", "\(wrong)") }
    #expect(faults(.cover, "https://apps.example/id1?c={click:shop}") == ["action.destination"])
    let long = "https://apps.example/id1?c={click:shop}&x=" + String(repeating: "x", count: 1_900)
    #expect(faults(.leave, long) == ["action.destination"] && faults(.leave, String(long.dropLast(100))).isEmpty)
  }
}
