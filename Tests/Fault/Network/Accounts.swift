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

  /// By which rules of the comparison an invariant is judged. I7c takes longer than a fault: until then nothing is final.
  private static let rulesOfInvariants = [
    "I2": ["I2", "I7b"], "I3": ["I3"], "I5": ["I5"], "I6": ["I6"], "I7": ["I7a", "I7b"], "I8": ["I8"],
  ]

  /// What says nothing about `invariants`, or about what the devices know, since nothing was compared.
  func emptyRules(of invariants: [String]) -> [String] {
    Set(["I3", "devices"] + invariants.flatMap { Self.rulesOfInvariants[$0] ?? [] })
      .filter { (rules[$0]?.compared ?? 0) == 0 }.sorted()
  }

  /// Waits until everything is decided and counted, then compares all accounts, the devices' own among them. Blocks.
  ///
  /// - Parameter invariants: what is at stake: something must be compared for each.
  /// - Throws: `FaultFailure` when something is left, or nothing was compared.
  static func close(
    _ network: FaultNetwork, invariants: [String], tallyPath: String, timeoutSeconds: Int
  ) throws -> Accounts {
    let drained = try network.command(["drain", "--timeout", "\(timeoutSeconds)s"], accepting: [0, 1])
    guard drained.status == 0 else { throw FaultFailure("not everything was decided: \(drained.output)") }
    try addBadRecords(network.takeBadRecords(), to: tallyPath)
    if network.takeStrangers() { try StrangerShare.add(network, to: tallyPath) }
    let said = try network.command(["reconcile", "--json", "--tally", tallyPath], accepting: [0, 1])
    let accounts = try Accounts(json: said.output)
    let empty = accounts.emptyRules(of: invariants)
    guard empty.isEmpty else { throw FaultFailure("nothing was compared for \(empty.joined(separator: ", "))") }
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
