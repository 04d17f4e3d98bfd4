import Foundation
import Runtime

/// The end of a demo: the report, and the comparison of all accounts.
enum Accounts {
  static func show(databaseURL: String, tally: DeviceTally) throws -> ExitCode {
    Terminal.print(try JSONOutput.text(tally))
    return .success
  }
}
