import AdCore
import LocalProcesses
import TestValues

/// PostgreSQL ends like by a power cut in the middle of everything, and comes back after a while.
struct DatabaseStop: Fault {
  let name = "database-stop"
  let summary = "PostgreSQL is killed with all its processes, and started again after some seconds"
  let invariants = ["I3", "I4", "I5", "I6"]

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    for _ in 0..<2 {
      network.postgres.killAndWait()
      network.pause(milliseconds: chance.number(0...4_000))
      try network.postgres.startAndWait()
      network.pause(milliseconds: chance.number(500...3_000))
    }
  }
}

/// PostgreSQL's machine is lost, and its synchronous standby takes its place: nothing that was committed is missing.
struct Failover: Fault {
  let name = "failover"
  let summary = "PostgreSQL is lost, and its synchronous standby is promoted"
  let invariants = ["I3", "I4", "I5", "I6"]
  let needs = NetworkNeeds(hasStandby: true, isUsedUp: true)

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    network.pause(milliseconds: chance.number(0...2_000))
    try network.failOver()
  }

  /// It has every commit: nobody waits for a person.
  func conclude(in network: FaultNetwork) throws {
    let stopped = try LostCommits(network).count("SELECT count(*) FROM timeline.finding")
    guard stopped == 0 else { throw FaultFailure("\(stopped) partitions found commits to be lost") }
  }
}

/// PostgreSQL's disk is full for a while.
struct DatabaseDiskFull: Fault {
  let name = "database-disk-full"
  let summary = "PostgreSQL's disk is full for some seconds"
  let invariants = ["I3", "I4", "I5", "I6"]
  let needs = NetworkNeeds(databaseMegabytes: 320, isUsedUp: true)
  var reasonSkipped: String? { SmallDisk.reasonMissing }

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let disk = try network.disk()
    try disk.fill()
    try network.wait("a service to find the disk full", milliseconds: 20_000) {
      // disk_full, in PostgreSQL's numbers.
      network.deciders.contains { $0.lastWords(50).contains { $0.contains("PostgreSQL 53100") } }
    }
    network.pause(milliseconds: chance.number(4_000...12_000))
    network.note("PostgreSQL \(network.postgres.isRunning ? "still runs" : "has ended")")
    disk.free()
    // It may have ended, or be about to: whoever runs it starts it until it stays.
    try network.wait("PostgreSQL to be back", milliseconds: 60_000) {
      try network.postgres.startAndWait()
      return (try? network.postgres.executeAndWait("CREATE TEMPORARY TABLE there_is_room (n int)")) != nil
    }
  }
}
