import Testing

@testable import Faults

@Suite("What a fault's accounts must have compared")
struct FaultAccountsTests {
  /// What `handbill reconcile --json` says, as far as it is read.
  private static func accounts(_ compared: [String: Int]) throws -> Accounts {
    let checks = compared.map { rule, rows in
      """
      {"rule": "\(rule)", "name": "all", "compared": \(rows), "differences": \(rows == 0 ? "null" : "0"), "examples": []}
      """
    }
    return try Accounts(json: #"{"checks": ["# + checks.joined(separator: ",") + "]}")
  }

  @Test("I5 to I7 hold in a fault only where something was compared, as I3 and the devices' own tally do")
  func empty() throws {
    let all = ["I2": 3, "I3": 4, "I5": 5, "I6": 6, "I7a": 7, "I7b": 8, "I7c": 0, "devices": 9]
    #expect(try Self.accounts(all).emptyRules(of: ["I1", "I2", "I3", "I4", "I5", "I6", "I7"]).isEmpty)
    for rule in all.keys where rule != "I7c" {
      let accounts = try Self.accounts(all.merging([rule: 0]) { $1 })
      #expect(accounts.emptyRules(of: ["I2", "I5", "I6", "I7"]) == [rule])
    }
    #expect(try Self.accounts(["I3": 1, "devices": 1]).emptyRules(of: ["I5", "I7"]) == ["I5", "I7a", "I7b"])
    #expect(try Self.accounts(["I3": 1, "devices": 1]).emptyRules(of: ["I1"]).isEmpty)
  }
}
