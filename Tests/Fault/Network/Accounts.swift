import Foundation

/// What the comparison of all accounts said, as far as a fault's result shows it.
struct Accounts: Sendable {
  /// Rows compared and differences, by rule.
  var rules: [String: (compared: Int64, differences: Int64)] = [:]
  /// Differences in words.
  var examples: [String] = []

  var differences: Int64 { rules.values.reduce(0) { $0 + $1.differences } }
  var compared: Int64 { rules.values.reduce(0) { $0 + $1.compared } }

  private struct Report: Decodable {
    struct Check: Decodable {
      let rule: String
      let name: String
      let compared: Int64
      let differences: Int64?
      let examples: [String]
    }
    let checks: [Check]
  }

  /// Reads what `handbill reconcile --json` says.
  init(json: String) throws {
    let report = try JSONDecoder().decode(Report.self, from: Data(json.utf8))
    for check in report.checks {
      rules[check.rule, default: (0, 0)].compared += check.compared
      rules[check.rule, default: (0, 0)].differences += check.differences ?? 0
      if let differences = check.differences, differences > 0 {
        examples.append("\(check.rule) \(check.name): \(differences): \(check.examples.joined(separator: "; "))")
      }
    }
  }

  /// Waits until everything is decided and counted, then compares all accounts, the devices' own among them. Blocks.
  ///
  /// - Throws: `FaultFailure` when something is left, or nothing was compared.
  static func close(_ network: FaultNetwork, tallyPath: String, timeoutSeconds: Int) throws -> Accounts {
    let drained = try network.command(["drain", "--timeout", "\(timeoutSeconds)s"], accepting: [0, 1])
    guard drained.status == 0 else { throw FaultFailure("not everything was decided: \(drained.output)") }
    try addBadRecords(network.takeBadRecords(), to: tallyPath)
    if network.takeStrangers() { try StrangerShare.add(network, to: tallyPath) }
    let said = try network.command(["reconcile", "--json", "--tally", tallyPath], accepting: [0, 1])
    let accounts = try Accounts(json: said.output)
    for rule in ["I3", "devices"] where (accounts.rules[rule]?.compared ?? 0) == 0 {
      throw FaultFailure("nothing was compared for \(rule)")
    }
    return accounts
  }

  /// The devices do not know what somebody else wrote.
  private static func addBadRecords(_ count: Int, to tallyPath: String) throws {
    guard count > 0 else { return }
    let tally = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: tallyPath)))
    guard var tally = tally as? [String: Any], let rejected = tally["rejectedRecords"] as? Int else {
      throw FaultFailure("the devices' tally cannot be read")
    }
    tally["rejectedRecords"] = rejected + count
    try JSONSerialization.data(withJSONObject: tally).write(to: URL(fileURLWithPath: tallyPath))
  }
}
