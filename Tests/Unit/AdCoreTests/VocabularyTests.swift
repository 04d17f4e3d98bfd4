import AdCore
import Testing

@Suite("Numbers with public meaning")
struct VocabularyTests {
  private static let words = Vocabularies.all.flatMap(\.words)

  /// A number that has been released means the same for ever: a line may get longer, and never changes otherwise.
  private static let released = [
    "ad_action: 1 cover, 2 leave",
    "ad_error: 0 unknown, 1 serverFailure, 2 loadingThrottled, 3 inventoryUnavailable, 4 configurationError, "
      + "5 bannerVisibleWithoutContent, 6 applicationInactive, 7 adUnloaded, 8 assetLoadFailure, "
      + "9 adResponseValidateFailure, 10 adAssetLoadPending",
    "ad_size: 1 320x50, 2 480x32, 3 768x66, 4 1024x66, 5 300x250, 6 768x1024, 7 1024x768",
    "agent_class: 0 unknown, 1 app, 2 browser, 3 tool",
    "allotment_state: 1 open, 2 closed, 3 ended",
    "anomaly_kind: 1 clickRate, 2 repeats, 3 tooEarly, 4 accidental, 5 limited, 6 impossible",
    "charge_fate: 0 drawing, 1 charged, 2 unfunded, 3 late, 4 waiting, 5 unpaid, 6 held, 7 voided, 18 freeRepeat, 19 freeAccidental, "
      + "20 freeTooEarly, 21 freeTooLate, 22 freeLimited, 23 freeNoImpression, 24 freeImpossible",
    "charge_kind: 1 impression, 2 click",
    "click_verdict: 1 billable, 2 repeat, 3 accidental, 4 tooEarly, 5 tooLate, 6 limited, 7 noImpression, 8 impossible",
    "conversion_kind: 1 install, 2 purchase, 3 other",
    "decision_reason: 1 served, 2 servedHouse, 3 servedTest, 4 duplicate, 5 deadlinePassed, 16 unknownKey, "
      + "17 revokedKey, 18 keyOfAnotherApp, 19 unknownApp, 20 agreementUnsigned, 21 audienceUnanswered, "
      + "22 adsNotEnabled, 23 sizeRefused, 24 requestInvalid, 32 countryNotServed, 33 noEligibleAd, 34 noAllotment, "
      + "35 paidAdsSuspended, 36 tooSoon, 37 tooManyAtOnce, 38 catalogIncomplete, 39 testUnfilled, 40 testError, "
      + "41 paidAdsStopped, 42 keyNotYetKnown, 43 keylessBeyondLimit, 44 tooManyOfApp, 45 paidAdsWithheld",
    "delivery_kind: 1 rendered, 2 viewed, 3 unloaded, 4 failed, 5 viewedTooSoon, 6 neverShown, 7 expiredUnseen, "
      + "8 shownBriefly",
    "device: 1 phone, 2 pad",
    "edge_reason: 192 originRefused, 193 rateExceeded, 194 unavailable, 195 noAnswer, 196 unknownCreative, "
      + "197 unsoundCreative",
    "hold_reason: 1 impressions, 2 clicksOfAd, 3 clickRate",
    "no_serve_reason: 1 paidAdsSuspended, 2 paused, 3 notYetStarted, 4 outsideFlight, 5 countryNotTargeted, "
      + "6 deviceNotTargeted, 7 imageMissing, 8 sizeNotTargeted, 9 audienceUnder17, 10 appCategoryNotTargeted, "
      + "11 segmentNotTargeted, 12 advertiserExcluded, 13 categoryExcluded, 14 keywordExcluded, 15 hostExcluded, "
      + "16 noAllotment, 17 paidAdsWithheld",
    "outcome: 0 absent, 1 accepted, 2 duplicate, 3 forwarded, 4 parked, 5 ahead, 6 noted, 7 suspense, 8 impossible, 9 held, "
      + "48 pastDeadline, 18 freeRepeat, 19 freeAccidental, 20 freeTooEarly, 21 freeTooLate, 22 freeLimited, "
      + "23 freeNoImpression, 24 freeImpossible, 32 refusedUnknown, 33 refusedServerFailure, "
      + "34 refusedLoadingThrottled, 35 refusedInventoryUnavailable, 36 refusedConfigurationError, "
      + "37 refusedBannerVisibleWithoutContent, 38 refusedApplicationInactive, 39 refusedAdUnloaded, "
      + "40 refusedAssetLoadFailure, 41 refusedAdResponseValidateFailure, 42 refusedAdAssetLoadPending, "
      + "64 rejectedNullValue, 65 rejectedEmptyValue, 66 rejectedTooLarge, 67 rejectedUnknownContentType, "
      + "68 rejectedMalformed, 69 rejectedMissingField, 70 rejectedInvalidField, 71 rejectedInvalidText, "
      + "72 rejectedInvalidEnvelope, 73 rejectedUnknownType, 74 rejectedTokenForged, 75 rejectedTokenKeyUnknown, "
      + "76 rejectedTokenExpired, 77 rejectedTokenOutOfTime, 78 rejectedEventInFuture, 79 rejectedTooLateArrival, "
      + "80 rejectedUnknownPartition, 81 rejectedInvalidReply, 82 rejectedRefusedByDatabase, "
      + "83 rejectedInvalidInternal",
    "paid_ads_state: 1 served, 2 suspended, 3 stopped, 4 withheld",
    "rejection_reason: 64 nullValue, 65 emptyValue, 66 tooLarge, 67 unknownContentType, 68 malformed, 69 missingField, "
      + "70 invalidField, 71 invalidText, 72 invalidEnvelope, 73 unknownType, 74 tokenForged, 75 tokenKeyUnknown, "
      + "76 tokenExpired, 77 tokenOutOfTime, 78 eventInFuture, 79 tooLateArrival, 80 unknownPartition, "
      + "81 invalidReply, 82 refusedByDatabase, 83 invalidInternal, 84 macWrong, 85 macKeyUnknown, 86 appKeyWrong, "
      + "87 forwardedTooOften, 88 notItsClient, 89 consentMissing, 90 referenceForged, 91 conversionTooLate, "
      + "92 tooManyConversions",
    "tap_kind: 1 click, 2 blocked, 3 cancelled, 4 converted",
  ]

  @Test("no number ever changes its meaning", arguments: released)
  func stable(line: String) throws {
    let (name, released) = try #require(
      line.firstRange(of: ": ").map { (line[..<$0.lowerBound], line[$0.upperBound...]) })
    let words = try #require(Vocabularies.all.first { $0.name == name }?.words)
    let known = Set(words.map { "\($0.number) \($0.name)" })
    let missing = Set(released.split(separator: ", ").map(String.init)).subtracting(known)
    #expect(missing.isEmpty)
  }

  @Test("all vocabularies are known by their names, and their numbers and names by themselves")
  func distinct() {
    #expect(Set(Vocabularies.all.map(\.name)).count == Vocabularies.all.count)
    #expect(
      Vocabularies.all.map(\.name) == Self.released.compactMap { $0.split(separator: ":").first.map(String.init) })
    #expect(Set(Self.words.map { "\($0.vocabulary) \($0.number)" }).count == Self.words.count)
    #expect(Set(Self.words.map { "\($0.vocabulary) \($0.name)" }).count == Self.words.count)
  }

  @Test("every word has a meaning for people")
  func meanings() {
    for word in Self.words {
      #expect(word.name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } && !word.meaning.isEmpty, "\(word)")
    }
  }

  @Test("numbers are read back as what they were written")
  func readBack() {
    #expect(
      ChargeFate.allCases.allSatisfy { ChargeFate(rawValue: $0.rawValue) == $0 && ChargeFate(name: $0.name) == $0 })
    #expect(ChargeFate(rawValue: 17) == nil && ChargeFate(rawValue: 8) == nil && ChargeFate(name: "free") == nil)
    #expect(DecisionReason.fills.numbers == "1, 2, 3" && DecisionReason.liveFills.numbers == "1, 2")
    #expect(Outcome(rawValue: 17).name == "freeBillable" && Outcome(rawValue: 15).name == "outcome15")
  }

  @Test("S8: a size is whole as soon as it is in the table", arguments: AdSize.allCases)
  func size(_ size: AdSize) throws {
    #expect(AdSize(name: size.name) == size)
    #expect(!size.devices.isEmpty && !size.identifiers.isEmpty && size.width > 0 && size.height > 0)
    for device in size.devices {
      for identifier in size.identifiers {
        #expect(AdSize.resolve(identifier: identifier, device: device, format: size.format) == size)
        let chosen = SizeSelection.select(
          required: [identifier], current: "", device: device, isInterstitial: size.format == .interstitial)
        #expect(chosen == .resolved(required: [size], current: size))
      }
    }
    #expect(Self.words.contains { $0.vocabulary == "ad_size" && $0.number == size.number && $0.name == size.name })
  }
}
