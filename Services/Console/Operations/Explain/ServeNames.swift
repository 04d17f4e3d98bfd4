import AdCore
import AdEvents

/// What stored numbers mean, in words. The numbers are public and never change meaning.
enum ServeNames {
  /// Why a request was decided as it was.
  static func decisionReason(_ number: Int64) -> String? {
    let names: [Int64: String] = [
      1: "a paid ad was served", 2: "a house ad was served", 3: "a test ad was served",
      4: "the same request within 60 s", 5: "its deadline had passed", 16: "unknown app key (A1)",
      17: "revoked app key (A1)", 18: "key of another app (A1)", 19: "unknown app", 20: "agreement unsigned (A3)",
      21: "audience unanswered (A9)", 22: "ads not enabled (A3)", 23: "sizes refused (S3, S4, S5)",
      32: "country not served (A5)", 33: "no eligible ad", 34: "no allotment", 35: "paid ads suspended: no heartbeat",
      36: "too soon (D2)", 37: "too many at once (D3)", 38: "catalogue incomplete", 39: "test request, not filled (A2)",
      40: "test request, injected error (A2)", 41: "paid ads stopped: billing circuit breaker",
    ]
    return names[number]
  }

  static func deliveryKind(_ number: Int64) -> String? {
    [1: "rendered", 2: "viewed", 3: "unloaded", 4: "failed", 5: "viewed sooner than can be: not an impression (B8)"][
      number]
  }

  static func stoppedKind(_ number: Int64) -> String? { [2: "blocked (D7)", 3: "cancelled (D9)"][number] }

  static func chargeKind(_ number: Int64) -> String? { [1: "impression", 2: "click"][number] }

  static func verdict(_ number: Int64) -> String? {
    guard let number = UInt8(exactly: number), let verdict = ClickVerdict(rawValue: number) else { return nil }
    return switch verdict {
    case .billable: "billable"
    case .repeat: "free: repeat (M4)"
    case .accidental: "free: accidental (M7)"
    case .tooEarly: "free: too early"
    case .tooLate: "free: too late"
    case .limited: "free: the client's click limit"
    case .noImpression: "free: no impression (M5)"
    case .impossible: "free: before the ad was on screen (B8)"
    }
  }

  static func fate(_ number: Int64) -> String? {
    switch number {
    case 1: "charged"
    case 2: "unfunded: the network bears it (B4)"
    case 3: "free: after its allotment's end"
    case 16...: verdict(number - 16)
    default: nil
    }
  }

  static func allotmentState(_ number: Int64) -> String? { [1: "open", 2: "closed", 3: "ended"][number] }

  static func device(_ number: Int64) -> String? {
    UInt8(exactly: number).flatMap(Device.init(rawValue:))?.catalogName
  }

  static func size(_ number: Int64) -> String? { UInt8(exactly: number).flatMap(AdSize.init(rawValue:))?.name }
}
