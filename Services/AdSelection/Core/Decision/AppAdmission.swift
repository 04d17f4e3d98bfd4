internal import AdCore
internal import AdEvents

/// Whether a request's app may be answered with ads at all, by its key (A1, A3, A9).
enum AppAdmission {
  case admitted(App)
  case refused(DecisionReason, detail: String)

  /// Judges the key with this SHA-256. Test builds need no agreement and no enabling: their developer is still setting
  /// the app up.
  static func judge(request: AdRequest, key: AppKey?, snapshot: CatalogSnapshot) -> AppAdmission {
    guard let key else { return .refused(.unknownKey, detail: "A1: the app key is unknown") }
    guard !key.isRevoked else { return .refused(.revokedKey, detail: "A1: the app key is revoked") }
    guard key.app == request.app else {
      return .refused(.keyOfAnotherApp, detail: "A1: the app key is not that of app \(request.app)")
    }
    guard let app = snapshot.apps[key.app] else {
      return .refused(.unknownApp, detail: "A1: app \(request.app) is not registered")
    }
    switch AudienceDecision.decide(app: app, build: key.build) {
    case .live, .test: return .admitted(app)
    case .refused(_, let detail): return .refused(reason(of: app), detail: detail)
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
