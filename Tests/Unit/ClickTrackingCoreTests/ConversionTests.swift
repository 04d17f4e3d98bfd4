import AdCore
import AdEvents
import Crypto
import Records
import TestValues
import Testing

@testable import ClickTrackingCore
@testable import Pipeline

@Suite("M8: what came of clicks")
struct ConversionTests {
  private static let day: Int64 = 86_400_000
  private let shop: AppID = known(AppID("shop"))

  private func key(
    of app: String = "shop", _ build: BuildKind = .distribution, isRevoked: Bool = false, isUnder17: Bool = false
  ) -> KnownAppKey {
    KnownAppKey(
      key: AppKey(
        app: known(AppID(app)), build: build, keyHash: SHA256.hash("\(app)-\(build.name)".utf8), isRevoked: isRevoked),
      isUnder17: isUnder17)
  }

  private func tables(_ keys: KnownAppKey...) -> MemoryTables {
    var tables = MemoryTables()
    tables.keys = keys.isEmpty ? [key()] : keys
    return tables
  }

  private func told(
    _ kind: ConversionKind, id: UInt64 = 1, serve: UInt64 = 1, partition: Int32 = Samples.partition,
    key: KnownAppKey? = nil, at time: Timestamp? = nil
  ) throws -> ClickInput {
    let serveID = try Samples.terms(serve: serve).serveID
    return .conversion(
      ToldConversion(
        reference: ClickReference(serveID: serveID, partition: partition, app: shop),
        identity: ConversionIdentity(kind: kind, idHash: id), keyHash: (key ?? self.key()).key.keyHash,
        claimedTime: time))
  }

  @Test("M8: an install counts once for a click, whatever is sent, in one batch or in many; so does what is other")
  func once() throws {
    for kind in [ConversionKind.install, .other] {
      var tables = tables()
      let decision = tables.run([try told(kind), try told(kind, id: 2), try told(kind)])
      #expect(decision.outcomes == [.accepted, .duplicate, .duplicate])
      #expect(tables.run([try told(kind, id: 3)]).outcomes == [.duplicate])
      #expect(tables.run([try told(kind, id: 3, serve: 2)]).outcomes == [.accepted])
      #expect(
        tables.conversions.map(\.told.reference.serveID) == [
          try Samples.terms(serve: 1).serveID, try Samples.terms(serve: 2).serveID,
        ])
    }
  }

  @Test("M8: each purchase counts once by its id, and at most so many of one click")
  func purchases() throws {
    var tables = tables()
    #expect(
      tables.run([try told(.purchase, id: 1), try told(.purchase, id: 2), try told(.purchase, id: 1)]).outcomes
        == [.accepted, .accepted, .duplicate])
    tables.run(try (UInt64(3)...100).map { try told(.purchase, id: $0) })
    #expect(tables.conversions.count == Windows.conversionsMaximum)
    let beyond = tables.run([try told(.purchase, id: 101), try told(.purchase, id: 100), try told(.install, id: 7)])
    #expect(beyond.outcomes == [.rejected(.tooManyConversions), .duplicate, .rejected(.tooManyConversions)])
  }

  @Test("M8: within its time after the ad was served, by its own time, and told not long after it")
  func window() throws {
    let served = try Samples.terms().serveID.timestamp
    let window = Windows().conversionMilliseconds
    for (days, delay, outcome) in [
      (0, 0, Outcome.accepted), (29, Self.day, .accepted), (29, Self.day + 1, .rejected(.conversionTooLate)),
    ] as [(Int64, Int64, Outcome)] {
      var tables = tables()
      let time = served.advanced(byMilliseconds: max(1, days * Self.day))
      tables.arrival = time.advanced(byMilliseconds: delay)
      #expect(tables.run([try told(.install, at: time)]).outcomes == [outcome], "\(days) d, \(delay) ms late")
    }
    var last = tables()
    last.arrival = served.advanced(byMilliseconds: window)
    #expect(last.run([try told(.install)]).outcomes == [.accepted])
    #expect(last.conversions.map(\.eventTime) == [last.arrival])
    var late = tables()
    late.arrival = served.advanced(byMilliseconds: window + 1)
    #expect(late.run([try told(.install)]).outcomes == [.rejected(.conversionTooLate)])
    // When it was done counts, not when it was told.
    for (beyond, outcome) in [(0, Outcome.accepted), (1, .rejected(.conversionTooLate))] as [(Int64, Outcome)] {
      var later = tables()
      let time = served.advanced(byMilliseconds: window + beyond)
      later.arrival = time.advanced(byMilliseconds: Self.day)
      #expect(later.run([try told(.install, at: time)]).outcomes == [outcome], "\(beyond) ms beyond")
    }
    // Nobody's clock puts it after its arrival, or before its ad.
    var ahead = tables()
    ahead.run([try told(.install, at: ahead.arrival.advanced(byMilliseconds: Self.day))])
    ahead.run([try told(.other, at: served.advanced(byMilliseconds: -5 * Self.day))])
    #expect(ahead.conversions.map(\.eventTime) == [ahead.arrival, served])
  }

  @Test("M8: nothing is put down to a click whose row is gone: it counts no longer than rows are kept")
  func rows() {
    let day = Self.day
    for (days, counted) in [(400, 30), (32, 30), (31, 29), (7, 5), (3, 1)] as [(Int, Int64)] {
      #expect(Windows().withRows(ofDays: days).conversionMilliseconds == counted * day, "\(days) days")
    }
  }

  @Test("A1, M8: it is told by the app that the ad is for, under a key of its own that is not revoked")
  func keys() throws {
    var tables = tables(key(of: "chess"), key(isRevoked: true))
    #expect(
      tables.run([
        try told(.install, key: key(of: "nobody")), try told(.install, key: key(of: "chess")), try told(.install),
      ]).outcomes == [.rejected(.appKeyWrong), .rejected(.appKeyWrong), .rejected(.appKeyWrong)])
    tables.keys[1] = key()
    #expect(tables.run([try told(.install)]).outcomes == [.accepted])
    #expect(tables.conversions.map(\.app) == [shop])
  }

  @Test("A2, M8: what a test build tells is test traffic, and takes no live conversion's place")
  func testBuilds() throws {
    var tables = tables(key(), key(.developer))
    #expect(
      tables.run([try told(.install, key: key(.developer)), try told(.install, id: 2)]).outcomes == [
        .accepted, .accepted,
      ])
    #expect(
      tables.run([try told(.install, id: 3, key: key(.developer)), try told(.install, id: 4)]).outcomes
        == [.duplicate, .duplicate])
    #expect(tables.conversions.map(\.isTest) == [true, false])
  }

  @Test("A4, M8: users under 17 cannot agree: what their app tells, or one of which nobody has said so, is not kept")
  func under17() throws {
    var tables = tables(key(isUnder17: true))
    #expect(
      tables.run([try told(.install), try told(.purchase)]).outcomes == [
        .rejected(.consentMissing), .rejected(.consentMissing),
      ])
    #expect(tables.conversions.isEmpty)
  }

  @Test(
    "It goes to the partition that its reference names, every purchase of a click, and no more often than they count")
  func forwarded() throws {
    var tables = tables()
    let decision = tables.run([try told(.install, partition: 3), try told(.install, id: 2, partition: 99)])
    #expect(decision.outcomes == [.forwarded, .rejected(.unknownPartition)])
    #expect(decision.rejections.first?.detail.hasPrefix("the click reference names partition 99") == true)
    #expect(decision.forwards.map(\.partition) == [3] && tables.conversions.isEmpty)
    let purchases = try (UInt64(2)...100).map { try told(.purchase, id: $0, partition: 3) }
    #expect(tables.run(purchases).outcomes == purchases.map { _ in .forwarded })
    #expect(tables.run([try told(.install, partition: 3)]).outcomes == [.rejected(.forwardedTooOften)])
    #expect(tables.run([try told(.install, serve: 2, partition: 3)]).outcomes == [.forwarded])
  }

  @Test("A batch that is lost leaves nothing; what the database refuses is rejected")
  func lost() throws {
    var tables = tables()
    tables.run([try told(.install)], isLost: true)
    #expect(tables.conversions.isEmpty)
    #expect(tables.run([try told(.install)], isRefused: true).outcomes == [.rejected(.refusedByDatabase)])
    #expect(tables.run([try told(.install)]).outcomes == [.accepted])
  }

  // MARK: As it is told

  private func decoded(
    _ conversion: ClickEvent.Conversion, change: (inout [UInt8]) -> Void = { _ in }
  ) throws -> ClickInput {
    var decoder = try ClickTracking(ring: .sample(1)).makeDecoder()
    let event = ClickEvent(
      kind: .converted, token: [], age: .unknown, actionMilliseconds: 0, leftApplication: false, conversion: conversion,
      identity: EventIdentity(idHash: 0, time: nil))
    let message = MessageMaker(topic: "ads.clicks", type: .adConverted, source: "/device").message(
      event, id: "an-install", time: Samples.now, partition: 0, key: nil)
    decoder.begin()
    for header in message.headers { header.withUnsafeBytes { decoder.header(name: $0, value: $1) } }
    var value = message.value ?? []
    change(&value)
    return value.withUnsafeBytes { decoder.decode(input: 0, value: $0, arrival: Samples.now).event }
  }

  @Test("M8, A8: a genuine reference is read, with the key as its hash; a forged one is rejected")
  func decodes() throws {
    let reference = ClickReference(serveID: try Samples.terms().serveID, partition: 5, app: shop)
    let text = try ClickReferences(ring: .sample(1)).text(of: reference, now: Samples.now)
    let input = try decoded(
      ClickEvent.Conversion(
        reference: text, kind: .purchase, appKey: "shop-key", value: Nanos(4_990_000_000), currency: Currency("USD")))
    guard case .conversion(let told) = input else {
      Issue.record("\(input)")
      return
    }
    #expect(
      told.reference == reference && told.identity.kind == .purchase && told.keyHash == SHA256.hash("shop-key".utf8))
    #expect(told.value == Nanos(4_990_000_000) && told.currency?.text == "USD" && told.claimedTime == Samples.now)
    let forged = try decoded(
      ClickEvent.Conversion(reference: "B" + text.dropFirst(), kind: .install, appKey: "shop-key"))
    guard case .rejected(let rejection) = forged else {
      Issue.record("\(forged)")
      return
    }
    #expect(rejection.reason == .referenceForged)
  }

  @Test("A8: without consent it is refused, and that is all that is kept")
  func consent() throws {
    // Field 6, the conversion; in it field 3, the consent: 0x18 0x01.
    let input = try decoded(ClickEvent.Conversion(reference: "whatever", kind: .install, appKey: "shop-key")) { value in
      for index in value.indices.dropLast() where value[index] == 0x18 && value[index + 1] == 1 { value[index + 1] = 0 }
    }
    guard case .rejected(let rejection) = input else {
      Issue.record("\(input)")
      return
    }
    #expect(rejection.reason == .consentMissing && !rejection.reason.isKept)
    #expect(!rejection.detail.contains("whatever") && !rejection.detail.contains("shop-key"))
    #expect(RejectionReason.allCases.filter { !$0.isKept } == [.consentMissing])
  }
}
