import AdCore
import AdEvents

/// What a stored number means. The numbers are public and never change meaning.
struct StoredMeaning: Hashable, Sendable {
  /// For programs, such as `noAllotment`; within a version of the API it never changes.
  var name: String
  /// The rule behind it, such as `M4`; nil where it follows from none.
  var rule: String?
  /// For people: ends a sentence.
  var words: String

  init(_ name: String, _ rule: String?, _ words: String) {
    self.name = name
    self.rule = rule
    self.words = words
  }

  /// A number that this program does not know: a newer one wrote it.
  static func unknown(_ number: Int64) -> StoredMeaning {
    StoredMeaning("unknown", nil, "something that only a newer release knows (\(number))")
  }

  /// The words, with the rule in brackets.
  var text: String { words + (rule.map { " (\($0))" } ?? "") }
}

// MARK: Requests

extension StoredMeaning {
  /// Why a request was decided as it was.
  static func decisionReason(_ number: Int64) -> StoredMeaning { decisionReasons[number] ?? .unknown(number) }

  private static let decisionReasons: [Int64: StoredMeaning] = [
    1: .init("served", "B1", "a paid ad was served"),
    2: .init("servedHouse", nil, "a house ad was served, since no paid one was to be had"),
    3: .init("servedTest", "A2", "a test ad was served"),
    4: .init("duplicate", nil, "the same request had come within 60 s"),
    5: .init("deadlinePassed", nil, "its deadline had passed before it was decided, so there was no auction"),
    16: .init("unknownKey", "A1", "its app key is not registered"),
    17: .init("revokedKey", "A1", "its app key is revoked"),
    18: .init("keyOfAnotherApp", "A1", "its app key belongs to another app"),
    19: .init("unknownApp", "A1", "its key's app is not in the catalogue"),
    20: .init("agreementUnsigned", "A3", "the app's developer has not signed the agreement"),
    21: .init("audienceUnanswered", "A9", "it was never said whether the app is aimed at users under 17"),
    22: .init("adsNotEnabled", "A3", "ads are not enabled for the app"),
    23: .init("sizeRefused", "S3", "its sizes are unknown, do not hold the current one, or are not for the device"),
    24: .init("requestInvalid", "M1", "something in it is missing or beyond its limits"),
    32: .init("countryNotServed", "A5", "the network does not operate in the country"),
    33: .init("noEligibleAd", "A6", "no ad was eligible"),
    34: .init("noAllotment", "B4", "ads were eligible, but no budget was left for them here and now"),
    35: .init("paidAdsSuspended", nil, "paid ads were suspended for want of the catalogue's heartbeat"),
    36: .init("tooSoon", "D2", "the same client had asked for the same placement too short a time before"),
    37: .init("tooManyAtOnce", "D3", "the client had asked too many times at once"),
    38: .init("catalogIncomplete", nil, "the service had not read the whole catalogue yet"),
    39: .init("testUnfilled", "A2", "test requests are deliberately not all filled"),
    40: .init("testError", "A2", "test requests deliberately get errors that did not happen"),
    41: .init("paidAdsStopped", nil, "the billing circuit breaker had stopped paid ads"),
    42: .init(
      "keyNotYetKnown", "A1", "its app key was not known, and the service had not read the whole catalogue yet"),
  ]

  /// Why an ad was not eligible for a request.
  static func exclusion(_ number: Int64) -> StoredMeaning {
    guard let reason = UInt8(exactly: number).flatMap(NoServeReason.init(rawValue:)) else { return .unknown(number) }
    let (rule, words): (String?, String) =
      switch reason {
      case .paidAdsSuspended: (nil, "paid ads were suspended or stopped")
      case .paused: (nil, "the campaign or ad is paused")
      case .notYetStarted: ("B4", "the flight has not begun")
      case .outsideFlight: ("B4", "the flight is over")
      case .countryNotTargeted: ("A6", "not for the country")
      case .deviceNotTargeted: ("A6", "not for the device")
      case .imageMissing: ("S4", "no image for a required size")
      case .sizeNotTargeted: ("A6", "not for a required size")
      case .audienceUnder17: ("A4", "not for users under 17")
      case .appCategoryNotTargeted: ("A6", "not for the app's categories")
      case .segmentNotTargeted: ("A6", "not for the request's segments")
      case .advertiserExcluded: ("A6", "the app excludes the advertiser")
      case .categoryExcluded: ("A6", "the app excludes a category of it")
      case .keywordExcluded: ("A6", "the app excludes a keyword of it")
      case .hostExcluded: ("A6", "the app excludes its destination's host")
      case .noAllotment: ("B4", "no budget was left for it here and now")
      }
    return StoredMeaning("\(reason)", rule, words)
  }

  /// A code of rules E.
  static func error(_ number: Int64) -> StoredMeaning {
    guard let error = UInt8(exactly: number).flatMap(AdError.init(rawValue:)) else { return .unknown(number) }
    return StoredMeaning("\(error)", "E\(number)", "\(error)")
  }

  static func device(_ number: Int64) -> StoredMeaning {
    let device = UInt8(exactly: number).flatMap(Device.init(rawValue:))
    return StoredMeaning(device?.catalogName ?? "unknown", nil, device?.catalogName ?? "an unknown device")
  }

  static func size(_ number: Int64) -> StoredMeaning {
    let size = UInt8(exactly: number).flatMap(AdSize.init(rawValue:))
    return StoredMeaning(size?.name ?? "unknown", nil, size?.name ?? "an unknown size")
  }

  static func action(_ number: Int64) -> StoredMeaning {
    guard let kind = UInt8(exactly: number).flatMap(AdAction.Kind.init(rawValue:)) else { return .unknown(number) }
    return StoredMeaning("\(kind)", "D11", kind == .cover ? "covers the screen" : "leaves the application")
  }
}

// MARK: Events and money

extension StoredMeaning {
  static func deliveryKind(_ number: Int64) -> StoredMeaning {
    switch number {
    case 1: .init("rendered", nil, "it began to be drawn")
    case 2: .init("viewed", "M1", "it was seen")
    case 3: .init("unloaded", "D5", "its content was unloaded")
    case 4: .init("failed", "D1", "it failed")
    case 5: .init("viewedTooSoon", "B8", "it was told to be seen sooner than can be, which is no impression")
    default: .unknown(number)
    }
  }

  static func stoppedKind(_ number: Int64) -> StoredMeaning {
    switch number {
    case 2: .init("blocked", "D7", "the app blocked it")
    case 3: .init("cancelled", "D9", "the app cancelled it")
    default: .unknown(number)
    }
  }

  static func chargeKind(_ number: Int64) -> StoredMeaning {
    switch number {
    case 1: .init("impression", "M1", "impression")
    case 2: .init("click", "M2", "click")
    default: .unknown(number)
    }
  }

  static func verdict(_ number: Int64) -> StoredMeaning {
    guard let verdict = UInt8(exactly: number).flatMap(ClickVerdict.init(rawValue:)) else { return .unknown(number) }
    let (rule, words): (String, String) =
      switch verdict {
      case .billable: ("M2", "it counts")
      case .repeat: ("M4", "it is free: another tap on the same ad had come before")
      case .accidental: ("M7", "it is free: the action was over too soon, an accident")
      case .tooEarly: ("M5", "it is free: it came too short a time after the impression")
      case .tooLate: ("M5", "it is free: it came too long after the impression")
      case .limited: ("B8", "it is free: the client had tapped as often as can earn")
      case .noImpression: ("M5", "it is free: no impression came for it")
      case .impossible: ("B8", "it is free: it lies before the ad was on screen")
      }
    return StoredMeaning("\(verdict)", rule, words)
  }

  /// What became of an accepted event in billing; free clicks have their verdict besides.
  static func fate(_ number: Int64) -> StoredMeaning {
    switch number {
    case 1: .init("charged", "B1", "it is charged")
    case 2: .init("unfunded", "B4", "no budget could pay it, so the network bears it")
    case 3:
      .init("late", "B4", "it came after its allotment's end and found no free budget: nobody pays, nobody is paid")
    case 4: .init("waiting", "B4", "it waits for what budget comes back")
    case 16...: .init("free", verdict(number - 16).rule, verdict(number - 16).words)
    default: .unknown(number)
    }
  }

  static func allotmentState(_ number: Int64) -> StoredMeaning {
    switch number {
    case 1: .init("open", nil, "ads are still sold from it")
    case 2: .init("closed", nil, "no more is sold from it, its ads may still be charged")
    case 3: .init("ended", nil, "it is over, and what was not charged has gone back")
    default: .unknown(number)
    }
  }
}
