package import AdCore

/// How many requests without their app's key a partition answers and keeps: whoever integrates a client hears of the
/// mistake, and a stranger fills neither the app's answers nor the tables. What is beyond it is counted under one name
/// (``DecisionReason/keylessBeyondLimit``), whatever the requests say. Nothing here is anybody's money, so it is kept in
/// memory alone: a partition that is opened anew begins anew.
package struct KeylessLimit: Hashable, Sendable {
  /// Of those that name one registered app; all that name none share as many.
  package static let ofAppPerSecondMaximum = 2
  /// Of all: a stranger may name any app that there is.
  package static let perSecondMaximum = 50
  /// Rows of a UTC day: at fifty a second a stranger would fill the tables all the same.
  package static let rowsPerDayMaximum = 10_000

  /// Seconds since 1970.
  private var second: Int64 = .min
  private var admitted = 0
  /// No more than were admitted.
  private var ofApp: [AppID?: Int] = [:]

  /// Days since 1970.
  private var day: Int64 = .min
  private var rows = 0

  package init() {}

  /// Whether one that is answered has a row as well; it is counted like those that are not answered where it has none.
  package mutating func keep(now: Timestamp) -> Bool {
    let current = now.milliseconds / 86_400_000
    if current != day { (day, rows) = (current, 0) }
    guard rows < Self.rowsPerDayMaximum else { return false }
    rows += 1
    return true
  }

  /// Whether one more is answered and kept.
  ///
  /// - Parameter app: the registered app that it names; nil where it is not registered.
  package mutating func admit(_ app: AppID?, now: Timestamp) -> Bool {
    let current = now.milliseconds / 1_000
    if current != second { (second, admitted, ofApp) = (current, 0, [:]) }
    guard admitted < Self.perSecondMaximum, ofApp[app, default: 0] < Self.ofAppPerSecondMaximum else { return false }
    admitted += 1
    ofApp[app, default: 0] += 1
    return true
  }
}
