import AdCore
import LocalProcesses
import Postgres
import TestServers
import TestValues

/// An owner stands still for longer than others wait for a sign of it, another takes over, and it wakes up and goes on as if nothing
/// had happened.
struct FrozenOwner: Fault {
  let name = "frozen-owner"
  let summary = "SIGSTOP of a service until another takes over, SIGCONT"
  let invariants = ["I3", "I4", "I5"]
  private static let takeOverMilliseconds: Int64 = 40_000

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let service = FaultNetwork.services[chance.number(0...3)]
    let owner = try network.instance(service)
    let epochs = try Partitions(network, service).epochs()
    owner.freeze()
    let other = try network.startAnother(service)
    defer { network.end(other) }
    try network.wait("another \(service) to take over", milliseconds: Self.takeOverMilliseconds) {
      let now = try Partitions(network, service).epochs()
      return now.allSatisfy { partition, epoch in epoch > epochs[partition, default: 0] }
    }
    network.pause(milliseconds: chance.number(500...2_000))
    owner.thaw()
    network.pause(milliseconds: chance.number(1_000...4_000))
  }
}

/// A service stands still in the middle of a COPY, so that its transaction holds its locks: whoever takes over must
/// get rid of it.
struct FrozenInCopy: Fault {
  let name = "frozen-in-copy"
  let summary = "SIGSTOP of a service in the middle of a COPY while another takes over"
  let invariants = ["I3", "I4", "I5"]
  private static let copyMilliseconds: Int64 = 60_000
  private static let waitSeconds = 20
  private static let takeOverMilliseconds: Int64 = 40_000

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    let service = FaultNetwork.services[chance.number(0...3)]
    let owner = try network.instance(service)
    let epochs = try Partitions(network, service).epochs()
    network.proxy.atCopy(application: "handbill-\(service)", skipping: chance.number(0...10)) { owner.freeze() }
    try network.wait("\(service) to stand still in a COPY", milliseconds: Self.copyMilliseconds) { owner.isFrozen }
    // PostgreSQL may still have to read what had been sent to it.
    let partitions = Partitions(network, service)
    guard try Waiting.until(seconds: Self.waitSeconds, { try partitions.copiesWaiting() > 0 }) else {
      throw FaultFailure("no COPY of \(service) stands still: \(try partitions.sessions())")
    }
    let other = try network.startAnother(service)
    defer { network.end(other) }
    try network.wait("another \(service) to take over", milliseconds: Self.takeOverMilliseconds) {
      let now = try Partitions(network, service).epochs()
      return now.allSatisfy { partition, epoch in epoch > epochs[partition, default: 0] }
    }
    owner.thaw()
    network.pause(milliseconds: chance.number(1_000...4_000))
  }
}

/// Processes of all services come and go, so that partitions change hands again and again in the middle of batches.
struct InstanceStorm: Fault {
  let name = "instance-storm"
  let summary = "a second and a third process of each service come and go"
  let invariants = ["I3", "I4", "I5", "I7"]
  private static let rounds = 3

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    for _ in 0..<Self.rounds {
      var others: [ServiceInstance] = []
      for service in FaultNetwork.services.shuffled(using: &chance) {
        others.append(try network.startAnother(service))
        network.pause(milliseconds: chance.number(100...800))
      }
      network.pause(milliseconds: chance.number(2_000...5_000))
      for other in others.shuffled(using: &chance) {
        network.end(other)
        network.pause(milliseconds: chance.number(0...500))
      }
    }
  }
}

/// Who owns a service's partitions, as the database sees it.
struct Partitions {
  private let network: FaultNetwork
  private let service: String
  private var schema: String { service.replacing("-", with: "_") }

  init(_ network: FaultNetwork, _ service: String) {
    self.network = network
    self.service = service
  }

  /// How often each partition was taken over.
  func epochs() throws -> [Int32: Int64] {
    let connection = try network.connection()
    defer { connection.close() }
    var epochs: [Int32: Int64] = [:]
    for row in try connection.query("SELECT partition, epoch FROM \(schema).partition") {
      epochs[try row.decode(0)] = try row.decode(1)
    }
    return epochs
  }

  /// How many partitions each process has.
  func owners() throws -> [Int32: Int] {
    let connection = try network.connection()
    defer { connection.close() }
    var owners: [Int32: Int] = [:]
    for row in try connection.query("SELECT owner FROM \(schema).partition") {
      if let owner: Int32 = try row.decode(0) { owners[owner, default: 0] += 1 }
    }
    return owners
  }

  /// What the service's sessions do.
  func sessions() throws -> String {
    let connection = try network.connection()
    defer { connection.close() }
    let sql = """
      SELECT concat_ws(' ', pid, state, wait_event_type, wait_event, left(query, 60)) FROM pg_stat_activity
      WHERE application_name = $1
      """
    return try connection.query(sql, ["handbill-\(service)"]).map { try $0.decode(0, String.self) }.joined(
      separator: "; ")
  }

  /// COPYs of the service that wait for their client.
  func copiesWaiting() throws -> Int64 {
    let connection = try network.connection()
    defer { connection.close() }
    let sql = """
      SELECT count(*) FROM pg_stat_activity
      WHERE application_name = $1 AND state = 'active' AND query LIKE 'COPY%' AND wait_event = 'ClientRead'
      """
    return try connection.query(sql, ["handbill-\(service)"]).first?.decode(0) ?? 0
  }
}
