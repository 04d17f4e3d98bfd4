import AdCore
import TestServers
import TestValues

/// The connection to PostgreSQL is cut in the middle of a COMMIT, again and again, for each service.
struct CommitCut: Fault {
  let name: String
  let summary: String
  let invariants = ["I3", "I4", "I5", "I6"]
  private let cut: PostgresProxy.Cut
  private static let cutsPerService = 3
  private static let milliseconds = 60_000

  init(_ cut: PostgresProxy.Cut) {
    self.cut = cut
    switch cut {
    case .beforeServerSees:
      name = "commit-cut-before"
      summary = "connections are cut before PostgreSQL sees the COMMIT"
    case .afterServerCommitted:
      name = "commit-cut-after"
      summary = "connections are cut after PostgreSQL has committed, before its answer is back"
    }
  }

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let before = network.proxy.cuts
    var wanted = before
    for _ in 0..<Self.cutsPerService {
      for service in FaultNetwork.services {
        network.proxy.cutCommit(cut, application: "handbill-\(service)", skipping: chance.number(0...12))
        wanted += 1
      }
      guard network.proxy.waitForCuts(wanted, timeoutMilliseconds: Self.milliseconds) else {
        throw FaultFailure("\(network.proxy.cuts - before) of \(wanted - before) COMMITs came to be cut")
      }
    }
  }
}
