internal import AdCore
internal import Runtime

extension Invocation {
  /// The app that `--app` names.
  func app() throws(UsageError) -> AppID { try Self.app(text("app"), of: "--app") }

  /// The app that a person names.
  ///
  /// - Parameter place: the option or the argument that does, for people.
  static func app(_ text: String?, of place: String) throws(UsageError) -> AppID {
    guard let app = AppID(text ?? "") else {
      throw UsageError("\(place) must be an app's id: 1 to 40 of a-z, 0-9 and -, the first not -")
    }
    return app
  }
}
