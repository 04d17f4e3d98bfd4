import AdCore
import TestValues
import Testing

@testable import AdSelectionCore
@testable import Pipeline

@Suite("Throttling and repeated requests")
struct ThrottleTests {
  private let placement: PlacementID

  init() throws { placement = try #require(PlacementID("home")) }

  private func at(_ milliseconds: Int64) -> Timestamp { Samples.now.advanced(byMilliseconds: milliseconds) }

  @Test("D2: a refused request does not put off the next; an interstitial has no refresh time")
  func refresh() {
    var throttle = Throttle()
    func admit(_ milliseconds: Int64, interstitial: Bool = false) -> Throttle.Admission {
      throttle.admit(client: 1, placement: placement, isInterstitial: interstitial, now: at(milliseconds))
    }
    #expect(admit(0) == .admitted)
    for second in 1..<29 { #expect(admit(Int64(second) * 1_000) == .tooSoon) }
    #expect(admit(29_000) == .admitted)
    #expect(admit(30_000, interstitial: true) == .admitted)
  }

  @Test("D3: the eleventh request of a client within its 30 s is refused, another client's is not")
  func manyAtOnce() throws {
    var throttle = Throttle()
    // Its windows begin a millisecond before each half minute.
    let begin = 29_999 - Samples.now.milliseconds % 30_000
    func admit(_ number: Int, client: UInt64 = 1, at milliseconds: Int64) throws -> Throttle.Admission {
      let placement = try #require(PlacementID("banner-\(number)"))
      return throttle.admit(
        client: client, placement: placement, isInterstitial: false, now: at(begin + milliseconds))
    }
    for number in 0..<10 { #expect(try admit(number, at: Int64(number)) == .admitted) }
    #expect(try admit(10, at: 29_999) == .tooManyAtOnce)
    #expect(try admit(10, client: 2, at: 29_999) == .admitted)
    #expect(try admit(10, at: 30_000) == .admitted)
  }

  @Test("D2, D3: a throttle made again from the last minute's requests judges as the one before it", arguments: 1...20)
  func madeAgain(seed: UInt64) throws {
    var random = SeededChance(seed: seed)
    let placements = try (0..<16).map { try #require(PlacementID("banner-\($0)")) }
    var throttle = Throttle()
    var admitted: [(client: UInt64, placement: PlacementID, at: Timestamp)] = []
    var now: Int64 = 0
    func ask(_ throttle: inout Throttle, client: UInt64, placement: PlacementID, at milliseconds: Int64)
      -> Throttle.Admission
    {
      throttle.admit(client: client, placement: placement, isInterstitial: false, now: at(milliseconds))
    }
    for _ in 0..<3_000 {
      now += Int64.random(in: 0...200, using: &random)
      let client = UInt64.random(in: 1...5, using: &random)
      let placement = try #require(placements.randomElement(using: &random))
      if ask(&throttle, client: client, placement: placement, at: now) == .admitted {
        admitted.append((client, placement, at(now)))
      }
    }
    var again = Throttle()
    let memory = StoredState.memoryMilliseconds(throttle: again.limits)
    for entry in admitted where at(now).milliseconds(since: entry.at) <= memory {
      again.note(client: entry.client, placement: entry.placement, at: entry.at)
    }
    for _ in 0..<500 {
      now += Int64.random(in: 0...200, using: &random)
      let client = UInt64.random(in: 1...5, using: &random)
      let placement = try #require(placements.randomElement(using: &random))
      #expect(
        ask(&again, client: client, placement: placement, at: now)
          == ask(&throttle, client: client, placement: placement, at: now))
    }
  }

  @Test("memory is bounded under a flood of clients, and what is rebuilt judges alike")
  func bounded() {
    let memory = RequestMemory(200)
    // A thousand partitions of one process.
    var throttles = (0..<1_000).map { _ in Throttle(memory: memory) }
    for client in 0..<20_000 as Range<UInt64> {
      let index = Int(client % 1_000)
      #expect(
        throttles[index].admit(client: client, placement: placement, isInterstitial: false, now: at(0)) == .admitted)
      // One each, where all have taken what there is.
      #expect(throttles[index].pairCount <= 200)
    }
    #expect(throttles.reduce(0) { $0 + $1.pairCount } <= 200 + 1_000)
    var alone = Throttle(memory: RequestMemory(200))
    for client in 0..<10_000 as Range<UInt64> {
      _ = alone.admit(client: client, placement: placement, isInterstitial: false, now: at(0))
      #expect((1...200).contains(alone.pairCount))
    }
    #expect(alone.admit(client: 9_999, placement: placement, isInterstitial: false, now: at(10_000)) == .tooSoon)
    var rebuilt = Throttle()
    rebuilt.note(client: 1, placement: placement, at: at(0))
    #expect(rebuilt.admit(client: 1, placement: placement, isInterstitial: false, now: at(10_000)) == .tooSoon)
  }

  @Test("a decision is remembered for 60 s, by its request's id, in bounded memory")
  func recentRequests() throws {
    func id(_ number: UInt64) -> UUIDv7 { UUIDv7(timestamp: Samples.now, randomHigh: 0, randomLow: number) }
    func serve(_ number: UInt64) -> ServeID { ServeID(timestamp: Samples.now, randomHigh: 1, randomLow: number) }
    let memory = RequestMemory(200)
    var recent = RecentRequests(memory: memory)
    recent.note(id(1), client: 0, id: serve(7), at: at(0))
    #expect(recent.id(of: id(1), client: 0, now: at(59_999)) == serve(7))
    #expect(recent.id(of: id(1), client: 0, now: at(60_000)) == nil)
    #expect(recent.id(of: id(2), client: 0, now: at(0)) == nil)
    // Who uses another's id makes nobody forget the other.
    recent.note(id(1), client: 9, id: serve(8), at: at(0))
    #expect(recent.id(of: id(1), client: 0, now: at(0)) == serve(7))
    #expect(recent.id(of: id(1), client: 9, now: at(0)) == serve(8))
    for number in 10..<5_000 as Range<UInt64> {
      recent.note(id(number), client: 0, id: serve(1), at: at(1_000))
      #expect(recent.id(of: id(number), client: 0, now: at(1_000)) == serve(1))
      #expect(recent.count <= 200)
    }
    // Another partition's are as many as the first one leaves, and all of them once that is gone.
    var other = RecentRequests(memory: memory)
    for number in 10..<5_000 as Range<UInt64> {
      other.note(id(number), client: 0, id: serve(1), at: at(1_000))
      #expect(other.count + recent.count <= 201)
    }
    recent = RecentRequests(memory: memory)
    for number in 10..<210 as Range<UInt64> { other.note(id(number), client: 0, id: serve(number), at: at(70_000)) }
    #expect((10..<210 as Range<UInt64>).allSatisfy { other.id(of: id($0), client: 0, now: at(70_000)) == serve($0) })
  }
}

@Suite("Test ads")
struct TestAdsTests {
  @Test(
    "A2: fill and errors keep to their settings within 1 % over 10,000 requests",
    arguments: [(8_000, 500), (5_000, 2_000), (10_000, 0), (0, 10_000)] as [(UInt16, UInt16)])
  func ratios(fill: UInt16, error: UInt16) {
    let testAds = TestAds(seed: 42, fillBasisPoints: fill, errorBasisPoints: error)
    var filled = 0
    var errors: [AdError: Int] = [:]
    for number in 0..<10_000 as Range<UInt64> {
      switch testAds.outcome(client: number % 100, ordinal: number / 100) {
      case .ad: filled += 1
      case .injected(let error): errors[error, default: 0] += 1
      case .unfilled: break
      }
    }
    #expect(abs(filled - Int(fill)) <= 100)
    #expect(abs(errors.values.reduce(0, +) - Int(error)) <= 100)
    if error > 0 { #expect(Set(errors.keys) == Set(TestAds.injectedErrors)) }
  }

  @Test("A2: the same seed repeats the sequence, another gives another")
  func repeatable() {
    func sequence(seed: UInt64) -> [TestAds.Outcome] {
      let testAds = TestAds(seed: seed, fillBasisPoints: 6_000, errorBasisPoints: 1_000)
      var counter = TestSequence()
      return (0..<1_000).map { testAds.outcome(client: $0 % 7, ordinal: counter.next(for: $0 % 7, at: Samples.now)) }
    }
    #expect(sequence(seed: 1) == sequence(seed: 1))
    #expect(sequence(seed: 1) != sequence(seed: 2))
  }

  @Test("A2: each day has the sequence again, whoever counted the day before")
  func daily() {
    let midnight = Timestamp(milliseconds: (TestSequence.day(of: Samples.now) + 1) * Windows.dayMilliseconds)
    let before = midnight.advanced(byMilliseconds: -1)
    var counter = TestSequence(restoring: [7: 40], of: TestSequence.day(of: before))
    #expect([before, before, midnight, midnight].map { counter.next(for: 7, at: $0) } == [40, 41, 0, 1])
  }

  @Test(
    "A2: clients that somebody invents take no more than the process has for all partitions, and put no tester back")
  func invented() {
    let memory = SelectionMemory(testClientsMaximum: 640)
    var sequences = (0..<64).map { _ in TestSequence(clients: memory.testClients) }
    for number in 0..<20_000 as Range<UInt64> {
      let index = Int(number % 64)
      #expect(sequences[index].next(for: 1_000_000 + number, at: Samples.now) == 0)
      #expect(sequences[index].next(for: 7, at: Samples.now) == number / 64)
      #expect(sequences[index].clientCount <= 10)
    }
    #expect(memory.testClients.held <= 640)
  }

  @Test("A2: what is stored of more clients than there is room for is taken as far as there is")
  func restoredWithinBound() {
    let memory = SelectionMemory(testClientsMaximum: 100)
    let stored = [UInt64: UInt64](uniqueKeysWithValues: (0..<1_000).map { ($0, 3) })
    let day = TestSequence.day(of: Samples.now)
    let first = TestSequence(restoring: stored, of: day, clients: memory.testClients)
    let second = TestSequence(restoring: stored, of: day, clients: memory.testClients)
    #expect(first.clientCount == 100 && second.clientCount == 0)
    var other = second
    #expect([0, 1, 2].allSatisfy { other.next(for: 5_000, at: Samples.now) == $0 })
  }

  @Test("test ads have an owner of their own and an action of each kind (D11)")
  func owner() {
    #expect(TestAd.all.map(\.advertiser.text) == ["handbill-test", "handbill-test"])
    #expect(Set(TestAd.all.map(\.action.kind)) == Set(AdAction.Kind.allCases))
    #expect(
      TestAd.all.allSatisfy { ad in AdSize.allCases.allSatisfy { ImageReference(ad.image(for: $0)).contents != nil } })
  }
}

@Suite("Click rates")
struct ClickRateTests {
  @Test(
    "the expected rate and Wilson's upper bound are those of real arithmetic",
    arguments: [(0, 0), (0, 100), (3, 100), (100, 10_000), (50, 50), (1, 1_000_000)] as [(Int64, Int64)])
  func agreesWithRealArithmetic(clicks: Int64, impressions: Int64) {
    let estimate = ClickRateEstimate(clicks: clicks, impressions: impressions)
    let number = Double(impressions + 200)
    let rate = Double(clicks + 2) / number
    let z = 2.32635
    let spread = z * (rate * (1 - rate) / number + z * z / (4 * number * number)).squareRoot()
    let upper = min(1, (rate + z * z / (2 * number) + spread) / (1 + z * z / number))
    #expect(abs(Double(estimate.expectedPartsPerMillion) - rate * 1_000_000) <= 1)
    #expect(abs(Double(estimate.upperPartsPerMillion) - upper * 1_000_000) <= 10)
    #expect(estimate.upperPartsPerMillion >= estimate.expectedPartsPerMillion)
  }

  @Test("no count can overflow or leave 0 to 1")
  func extremes() {
    for clicks in [Int64.min, 0, .max] {
      for impressions in [Int64.min, 0, .max] {
        let estimate = ClickRateEstimate(
          clicks: clicks, impressions: impressions, priorClicks: clicks, priorImpressions: impressions)
        #expect((0...1_000_000).contains(estimate.expectedPartsPerMillion))
        #expect((0...1_000_000).contains(estimate.upperPartsPerMillion))
      }
    }
  }
}
