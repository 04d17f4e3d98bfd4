/// Which ads the audience of a build sees (A1 to A3).
public enum AudienceDecision: Hashable, Sendable {
  /// Live ads, for end users.
  case live
  /// Test ads, never billed (A2): for developer and ad-hoc builds, whatever the app's set-up.
  case test
  /// The request gets `configurationError` (A3), with a text for the app's developer.
  case refused(AdError, reason: String)

  /// Decides for an app by the build kind that its key is registered for.
  public static func decide(app: App, build: BuildKind) -> AudienceDecision {
    switch build {
    case .developer, .adHoc: return .test
    case .distribution:
      guard let missing = AppSetUp.nextStep(of: app) else { return .live }
      return .refused(.configurationError, reason: "A3: \(missing.whatIsMissing)")
    }
  }
}

/// Setting an app up, in order (A9): the agreement is accepted, the primary audience is answered, ads are enabled.
public enum AppSetUp {
  /// The steps, in their order.
  public enum Step: UInt8, CaseIterable, Sendable {
    case acceptAgreement = 1
    case answerAudience = 2
    case enableAds = 3

    /// What an app that has not taken the step lacks.
    public var whatIsMissing: String {
      switch self {
      case .acceptAgreement: "the network agreement is not signed"
      case .answerAudience: "the primary audience is not answered (under 17: yes or no)"
      case .enableAds: "ads are not enabled for the app"
      }
    }
  }

  /// The first step not yet taken; nil for an app that is set up.
  public static func nextStep(of app: App) -> Step? {
    if !app.isAgreementSigned { return .acceptAgreement }
    if app.isUnder17 == nil { return .answerAudience }
    return app.areAdsEnabled ? nil : .enableAds
  }
}

/// Why a change is refused: the rule, and what a person can do about it.
public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
  public var rule: String
  public var reason: String

  public init(rule: String, reason: String) {
    self.rule = rule
    self.reason = reason
  }

  public var description: String { "\(rule): \(reason)" }
}

/// The primary audience of an app (A4).
public enum PrimaryAudience {
  /// Why the answer may not change so; nil where it may. Once under 17, always under 17, for that bundle id; an answer
  /// may also not be taken back to no answer then.
  public static func refusal(wasUnder17: Bool, isUnder17: Bool?, bundleID: String) -> Refusal? {
    guard wasUnder17, isUnder17 != true else { return nil }
    return Refusal(
      rule: "A4",
      reason: "\(bundleID) was set to under 17, which can never be changed for a bundle id: leave it at under 17")
  }

  /// The refusals of replacing `old` (nil for a new app) by `new`: the audience taken back, or the bundle id changed,
  /// which would be a way around that.
  ///
  /// - Parameter isBundleUnder17: Whether any app of the new bundle id was ever set to under 17.
  public static func refusals(from old: App?, to new: App, isBundleUnder17: Bool) -> [Refusal] {
    var refusals: [Refusal] = []
    if let old, old.bundleID != new.bundleID {
      refusals.append(
        Refusal(
          rule: "A4",
          reason: "the bundle id of an app cannot change (it is \(old.bundleID)): make a new app for \(new.bundleID)"))
    }
    let wasUnder17 = isBundleUnder17 || old?.isUnder17 == true
    if let refusal = refusal(wasUnder17: wasUnder17, isUnder17: new.isUnder17, bundleID: new.bundleID) {
      refusals.append(refusal)
    }
    return refusals
  }
}
