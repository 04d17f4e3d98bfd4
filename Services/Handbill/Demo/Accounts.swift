import AdCore
import Foundation
import Operations
import Runtime

/// The end of a demo: the report, and the comparison of all accounts, the devices' own among them.
enum Accounts {
  static func show(databaseURL: String, tally: DeviceTally) throws -> ExitCode {
    let (report, reconciliation) = try ReportCommand.withPool(databaseURL) { pool in
      (
        try Reports(pool).report(ReportQuery(grouping: [.app])),
        try Reconciler(pool).reconcile(tally: DeviceAccount(tally))
      )
    }
    Terminal.print("\n" + report.text + "\n" + reconciliation.text)
    return reconciliation.isClean ? .success : .failure
  }
}

extension DeviceAccount {
  /// What the simulated devices have counted.
  init(_ tally: DeviceTally) {
    func kinds(_ kinds: DeviceTally.Kinds) -> Kinds { Kinds(live: Int64(kinds.live), test: Int64(kinds.test)) }
    self.init(
      startedAt: Timestamp(milliseconds: tally.startedAtMilliseconds), requests: Int64(tally.requests),
      impressions: kinds(tally.impressions), clicks: kinds(tally.clicks),
      accidentalClicks: kinds(tally.accidentalClicks), badRecords: Int64(tally.forgedEvents + tally.garbage))
  }
}
