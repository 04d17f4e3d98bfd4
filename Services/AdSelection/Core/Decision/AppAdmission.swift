internal import AdCore

/// Whether a request has its app's key (A1).
enum KeyAdmission {
  /// The build says which kind of ads it is.
  case admitted(BuildKind)
  case refused(DecisionReason, detail: String)

  var isAdmitted: Bool { if case .admitted = self { true } else { false } }

  /// Judges the key with this SHA-256; nil where the request has none that can be read.
  static func judge(_ keyHash: [UInt8]?, of app: AppID, snapshot: CatalogSnapshot) -> KeyAdmission {
    guard let keyHash else { return .refused(.unknownKey, detail: "A1: there is no app key that can be read") }
    guard let key = snapshot.apps.key(hash: keyHash) else {
      return .refused(.unknownKey, detail: "A1: the app key is unknown")
    }
    guard !key.isRevoked else { return .refused(.revokedKey, detail: "A1: the app key is revoked") }
    guard key.app == app else {
      return .refused(.keyOfAnotherApp, detail: "A1: the app key is not that of app \(app)")
    }
    return .admitted(key.build)
  }
}

/// Whether an app that has its key may be answered with ads at all (A3, A9).
enum AppAdmission {
  case admitted(RegisteredApp)
  case refused(DecisionReason, detail: String)

  /// Test builds need no agreement and no enabling: their developer is still setting the app up.
  static func judge(_ id: AppID, build: BuildKind, snapshot: CatalogSnapshot) -> AppAdmission {
    guard let registered = snapshot.apps[id] else {
      return .refused(.unknownApp, detail: "A1: app \(id) is not registered")
    }
    switch AudienceDecision.decide(app: registered.app, build: build) {
    case .live, .test: return .admitted(registered)
    case .refused(_, let detail): return .refused(reason(of: registered.app), detail: detail)
    }
  }

  /// The number for what the app's set-up lacks.
  private static func reason(of app: App) -> DecisionReason {
    switch AppSetUp.nextStep(of: app) {
    case .acceptAgreement: .agreementUnsigned
    case .answerAudience: .audienceUnanswered
    case .enableAds, nil: .adsNotEnabled
    }
  }
}
