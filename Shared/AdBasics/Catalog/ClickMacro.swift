/// What stands for a click reference in the query of a store link (M8), such as `{click:shop}`: the app in it is the
/// advertised one, and alone may tell by the reference what came of the click.
package struct ClickMacro: Hashable, Sendable {
  /// How each of them begins.
  package static let start = "{click"

  package let app: AppID

  package init(app: AppID) { self.app = app }

  /// The first one of a destination; nil where there is none, or it names no app.
  init?(in destination: String) {
    guard let start = destination.firstRange(of: ClickMacro.start + ":") else { return nil }
    let name = destination[start.upperBound...].prefix { $0 != "}" }
    guard name.endIndex < destination.endIndex, let app = AppID(String(name)) else { return nil }
    self.app = app
  }

  package var text: String { "\(ClickMacro.start):\(app)}" }
}

extension AdAction {
  /// Whose users a store link with a reference brings (M8); nil without one.
  package var advertisedApp: AppID? { kind == .leave ? ClickMacro(in: destination)?.app : nil }

  /// The action as it is served: with a reference in the place of the macro, where there is one.
  ///
  /// - Parameter reference: for the advertised app; empty for none.
  package func served(reference: (AppID) -> String) -> AdAction {
    guard let app = advertisedApp else { return self }
    return AdAction(kind: kind, destination: destination.replacing(ClickMacro(app: app).text, with: reference(app)))
  }
}

extension Ad {
  /// The longest reference that a destination leaves room for, in bytes.
  private static let referenceBytesMaximum = 128

  func checkMacro(_ list: inout FaultList) {
    let destination = action.destination
    guard destination.contains(ClickMacro.start) else { return }
    let served = action.served { _ in String(repeating: "r", count: Ad.referenceBytesMaximum) }.destination
    list.require(
      action.advertisedApp != nil && !served.contains(ClickMacro.start)
        && !destination.prefix { $0 != "?" }.contains(ClickMacro.start), "action.destination",
      "{click:APP} stands for the click's reference in the query of a store link (M8): put it behind the ?, in an ad that "
        + "leaves the app, with the id of the advertised app in the place of APP")
    list.require(
      served.utf8.count <= URLText.bytesMaximum, "action.destination",
      "with references of \(Ad.referenceBytesMaximum) bytes in their places it is longer than \(URLText.bytesMaximum) bytes"
    )
  }
}
