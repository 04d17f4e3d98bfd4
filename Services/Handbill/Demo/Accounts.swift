internal import AdCore
internal import Foundation
internal import JSON
internal import Operations
internal import Runtime

/// The end of a demo: the report, and the comparison of all accounts, the devices' own among them.
enum Accounts {
  static func show(databaseURL: String, tally: DeviceTally) throws -> ExitCode {
    let (report, reconciliation) = try ReportCommand.withPool(databaseURL) { pool in
      (
        try Reports(pool).report(ReportQuery(grouping: [.app])),
        try Reconciler(pool).reconcile(tally: tally.account)
      )
    }
    Terminal.print("\n" + report.text + "\n" + reconciliation.text)
    return reconciliation.isClean ? .success : .failure
  }
}

extension DeviceTally {
  /// What of it is compared with the tables.
  var account: DeviceAccount {
    func kinds(_ kinds: Kinds) -> DeviceAccount.Kinds {
      DeviceAccount.Kinds(live: Int64(kinds.live), test: Int64(kinds.test))
    }
    return DeviceAccount(
      startedAt: Timestamp(milliseconds: startedAtMilliseconds), requests: Int64(requests),
      impressions: kinds(impressions), clicks: kinds(clicks), accidentalClicks: kinds(accidentalClicks),
      lives: DeviceAccount.Lives(
        freeClicks: kinds(freeClicks), stoppedActions: kinds(stoppedActions), rendered: kinds(rendered),
        unloaded: kinds(unloaded), failed: kinds(failed), neverShown: kinds(neverShown),
        expiredUnseen: kinds(expiredUnseen), shownBriefly: kinds(shownBriefly),
        conversions: Int64(conversions), failuresWithoutAd: Int64(failuresWithoutAd)),
      rejectedRecords: Int64(forgedEvents + garbage))
  }

  /// The file that 'handbill reconcile --tally' reads (docs/tally.md).
  var json: JSONValue {
    account.json(besides: [
      .init("endedAt", .text(Timestamp(milliseconds: endedAtMilliseconds).utcText)),
      .init("adsReceived", ["live": .integer(Int64(adsReceived.live)), "test": .integer(Int64(adsReceived.test))]),
      .init(
        "errorsReceived",
        .object(errorsReceived.sorted { $0.key < $1.key }.map { .init($0.key, .integer(Int64($0.value))) })),
      .init("repeatedEvents", .integer(Int64(repeatedEvents))),
      .init("forgedEvents", .integer(Int64(forgedEvents))), .init("garbage", .integer(Int64(garbage))),
    ])
  }
}
