import AdCore
import LocalProcesses
import Postgres
import Runtime
import TestValues

/// A process of each service ends or stands still while it is busy; how long its partitions wait for the next batch has
/// a bound.
struct Interruption: Fault {
  enum Kind: String, Sendable {
    /// kill -9, and started again: measured from that start.
    case killedAndStarted = "killed-and-started"
    /// SIGTERM, and started again as soon as it has ended: measured from the last batch of the old process, or from the
    /// signal where there was nothing to decide since.
    case gracefulRestart = "graceful-restart"
    /// kill -9 while another process of the service has the other half of its partitions.
    case killedBesideAnother = "killed-beside-another"
    /// SIGSTOP while another has the other half.
    case frozenBesideAnother = "frozen-beside-another"
  }

  let kind: Kind
  var name: String { kind.rawValue }
  let invariants = ["I3", "I5", "I7"]

  init(_ kind: Kind) { self.kind = kind }

  var summary: String {
    let seconds = "\(boundMilliseconds / 1_000) s"
    return switch kind {
    case .killedAndStarted: "kill -9 of each service, started again: it decides within \(seconds)"
    case .gracefulRestart: "SIGTERM of each service, started again: no partition waits longer than \(seconds)"
    case .killedBesideAnother: "kill -9 of one of two processes of each service: the other decides within \(seconds)"
    case .frozenBesideAnother: "SIGSTOP of one of two processes of each service: the other decides within \(seconds)"
    }
  }

  private var boundMilliseconds: Int64 {
    switch kind {
    case .killedAndStarted: 3_000
    case .gracefulRestart: 1_000
    case .killedBesideAnother, .frozenBesideAnother: 10_000
    }
  }

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    for service in FaultNetwork.services.shuffled(using: &chance) {
      let milliseconds = try interrupt(service, in: network)
      network.keep(Standstill(service: service, milliseconds: milliseconds))
      guard milliseconds <= boundMilliseconds else {
        throw FaultFailure("\(service) stood still for \(milliseconds) ms, more than \(boundMilliseconds) ms")
      }
      network.pause(milliseconds: chance.number(100...1_000))
    }
  }

  /// - Returns: how long the partition that waited longest did.
  private func interrupt(_ service: String, in network: FaultNetwork) throws -> Int64 {
    let instance = try network.instance(service)
    let batches = BatchTimes(network: network, service: service)
    try network.wait("\(service) to be ready", milliseconds: 60_000) { instance.isReady }
    switch kind {
    case .killedAndStarted:
      instance.killAndKeepDown()
      let ended = SystemClock().now
      instance.startAgain()
      let first = try batches.around(ended).map(\.next).max()
      return (first ?? ended).milliseconds - instance.startedAt.milliseconds
    case .gracefulRestart:
      let asked = SystemClock().now
      guard let end = instance.terminate(timeoutMilliseconds: 10_000), end.status.isSuccess else {
        throw FaultFailure("\(service) did not end in order")
      }
      let times = try batches.around(SystemClock().now)
      return times.map { $0.next.milliseconds - max($0.last, asked).milliseconds }.max() ?? 0
    case .killedBesideAnother, .frozenBesideAnother:
      return try interruptBesideAnother(instance, batches, in: network)
    }
  }

  private func interruptBesideAnother(
    _ instance: ServiceInstance, _ batches: BatchTimes, in network: FaultNetwork
  ) throws -> Int64 {
    let other = try network.startAnother(instance.service)
    defer { network.end(other) }
    try network.wait("two of \(instance.service) to share", milliseconds: 60_000) {
      try Partitions(network, instance.service).owners().values.sorted() == [2, 2]
    }
    // Until both have decided with what they have.
    network.pause(milliseconds: 500)
    let moment: Timestamp
    if kind == .frozenBesideAnother {
      instance.freeze()
      moment = SystemClock().now
    } else {
      instance.killAndKeepDown()
      moment = SystemClock().now
    }
    defer {
      instance.thaw()
      instance.startAgain()
    }
    let first = try batches.around(moment).map(\.next).max()
    return (first ?? moment).milliseconds - moment.milliseconds
  }
}

/// When batches of a service were decided, by its own clock, which is this machine's.
struct BatchTimes {
  let network: FaultNetwork
  let service: String
  private var schema: String { service.replacing("-", with: "_") }
  private static let milliseconds: Int64 = 60_000

  /// Waits until each partition has a batch after those that there are now: call it before the next process decides.
  ///
  /// - Returns: for each partition the last batch until now, and the next.
  func around(_ moment: Timestamp) throws -> [(last: Timestamp, next: Timestamp)] {
    let connection = try network.connection()
    defer { connection.close() }
    let before = try numbers(connection)
    // By the numbers, which cost the database nothing: it is busy with what is measured.
    try network.wait("every partition of \(service) to decide again", milliseconds: Self.milliseconds) {
      let after = try numbers(connection)
      return after.count == network.needs.partitions && after.allSatisfy { $0.value > before[$0.key] ?? 0 }
    }
    let sql = """
      SELECT (SELECT committed_at FROM \(schema).batch WHERE partition = $1 AND batch_number = $2),
        (SELECT committed_at FROM \(schema).batch WHERE partition = $1 AND batch_number > $2
          ORDER BY batch_number LIMIT 1)
      """
    return try (0..<network.needs.partitions).map { partition in
      guard let row = try connection.query(sql, [partition, before[partition] ?? 0]).first else {
        throw FaultFailure("partition \(partition) of \(service) has no batch")
      }
      let last: PostgresTimestamp? = try row.decode(0)
      return (last: last.map { Timestamp($0) } ?? moment, next: Timestamp(try row.decode(1, PostgresTimestamp.self)))
    }
  }

  /// By partition: the number of its last batch.
  private func numbers(_ connection: PostgresConnection) throws -> [Int32: Int64] {
    let rows = try connection.query("SELECT partition, batch_number FROM \(schema).partition")
    return Dictionary(try rows.map { (try $0.decode(0), try $0.decode(1)) }) { $1 }
  }
}
